// New pages are zeroed by the system before their first use, which takes up to half as long as a
// cheap map. Memory of outputs that are gone is therefore kept, and its pages are
// offered to the system (MADV_FREE): it takes them when memory runs short, and until then the next
// output finds them as they are.
#include "cerf/output_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace cerf {
namespace {

constexpr int64_t kHugePage = int64_t(2) << 20;
constexpr size_t kMostBlocks = 8;
constexpr int64_t kSurplusShare = 8;  // an eighth more than needed is not too much

struct Block {
  char* data;
  int64_t n_bytes;
};

void unmap(const Block& block) {
  munmap(block.data, static_cast<size_t>(block.n_bytes));
}

// Offers the pages to the system (MADV_FREE); false if it does not support that.
bool offer(const Block& block) {
#ifdef MADV_FREE
  return madvise(block.data, static_cast<size_t>(block.n_bytes), MADV_FREE) == 0;
#else
  return block.n_bytes < 0;
#endif
}

// The system uses huge pages where whole ones fit; the rest of a block takes no more than it needs.
Block map_new(int64_t n_bytes) {
  const size_t whole = static_cast<size_t>(n_bytes + kHugePage);
  void* const mapped =
      mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const begin = static_cast<char*>(mapped);
  const int64_t before = -reinterpret_cast<intptr_t>(mapped) & (kHugePage - 1);
  const Block block{begin + before, n_bytes};
  if (before > 0) unmap({begin, before});
  unmap({block.data + n_bytes, kHugePage - before});
#ifdef MADV_HUGEPAGE
  madvise(block.data, static_cast<size_t>(n_bytes), MADV_HUGEPAGE);
#endif
  return block;
}

class Store {
 public:
  Store() { kept_.reserve(kMostBlocks + 1); }  // so that `keep` never allocates

  // Smallest kept block that is large enough, and not much larger than needed.
  bool take(int64_t n_bytes, Block& found) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto best = kept_.end();
    for (auto block = kept_.begin(); block != kept_.end(); ++block) {
      const int64_t surplus = block->n_bytes - n_bytes;
      const bool fits = surplus >= 0 && surplus <= n_bytes / kSurplusShare;
      if (fits && (best == kept_.end() || block->n_bytes < best->n_bytes)) best = block;
    }
    if (best == kept_.end()) return false;
    found = *best;
    kept_.erase(best);
    return true;
  }

  void keep(const Block& block) {
    if (block.n_bytes > limit() || !offer(block)) {
      unmap(block);
      return;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_.push_back(block);
    drop_surplus();
  }

  void set_limit(int64_t n_bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    limit_ = std::max<int64_t>(0, n_bytes);
    drop_surplus();
  }
  int64_t limit() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return limit_;
  }
  int64_t n_bytes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return total();
  }

 private:
  int64_t total() const {
    int64_t sum = 0;
    for (const Block& block : kept_) sum += block.n_bytes;
    return sum;
  }
  // The longest unused go first.
  void drop_surplus() {
    while (kept_.size() > kMostBlocks || total() > limit_) {
      unmap(kept_.front());
      kept_.erase(kept_.begin());
    }
  }

  std::mutex mutex_;
  std::vector<Block> kept_;
  int64_t limit_ = int64_t(256) << 20;
};

// Never destroyed: arrays may outlive static objects.
Store& store() {
  static Store* const instance = new Store;
  return *instance;
}

}  // namespace

OutputMemory::OutputMemory(int64_t n_bytes) {
  static const int64_t page = sysconf(_SC_PAGESIZE);
  n_bytes = (std::max<int64_t>(n_bytes, 1) + page - 1) / page * page;
  Block block{};
  if (!store().take(n_bytes, block)) block = map_new(n_bytes);
  data_ = block.data;
  n_bytes_ = block.n_bytes;
}

OutputMemory::~OutputMemory() {
  store().keep({data_, n_bytes_});
}

void set_kept_output_limit(int64_t n_bytes) {
  store().set_limit(n_bytes);
}
int64_t kept_output_limit() {
  return store().limit();
}
int64_t kept_output_bytes() {
  return store().n_bytes();
}

}  // namespace cerf
