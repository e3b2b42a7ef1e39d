// Runs a packed map over the rows of X: panels, threads, and the choice of the one-row form.
#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "cerf/features.h"
#include "cerf/turns.h"

namespace cerf {
namespace {

std::atomic<int> thread_cap{0};

// Panels that a thread takes at a time, and the rows below which a second thread does not pay.
constexpr int64_t kPanelsPerTurn = 4;
constexpr int64_t kRowsPerThread = 128;
// A step, of at most 32 rows, fits beside the rows of a cache line that is not complete yet.
constexpr int32_t kSinkRows = 48;
// Outputs of more bytes leave the caches before anybody reads them.
constexpr int64_t kCachedBytes = int64_t(32) << 20;

template <class T>
struct Workspace {
  Workspace(int64_t panel_size, int64_t scratch_size, int64_t sink_size, int64_t score_size)
      : panel(panel_size), scratch(scratch_size), rows(sink_size), scores(score_size) {}
  Buffer<T> panel, scratch, rows, scores;
};

template <class T>
void write_scores(const Head<T>& head, const T* scores, int32_t width, int32_t n_samples, T* out) {
  for (int32_t s = 0; s < n_samples; s++) {
    for (int32_t c = 0; c < head.n_scores; c++) {
      out[int64_t(s) * head.n_scores + c] = scores[int64_t(c) * width + s] + head.intercept[c];
    }
  }
}

}  // namespace

int get_num_threads() {
  const int cap = thread_cap.load();
  return cap > 0 ? cap : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}
void set_num_threads(int n_threads) {
  thread_cap.store(std::max(0, n_threads));
}

template <class T>
Model<T>::Model(std::unique_ptr<Structure<T>> structure, const Outputs& outputs, int32_t n_features,
                const KernelTable<T>& kernels)
    : structure_(std::move(structure)),
      n_features_(n_features),
      n_projections_(outputs.n_projections()),
      n_outputs_(outputs.n_outputs),
      paired_(outputs.paired),
      rectified_(outputs.rectified),
      offsets_(offset_turns_of<T>(outputs)),
      amplitudes_(packed_amplitudes_of<T>(outputs)),
      kernels_(kernels) {}

template <class T>
int64_t Model<T>::n_bytes() const {
  return structure_->n_bytes() + offsets_.n_bytes() + amplitudes_.n_bytes();
}

template <class T>
bool Model<T>::transform(const Input<T>& X, T* out, int n_threads) const {
  return run(X, nullptr, out, n_threads);
}
template <class T>
bool Model<T>::scores(const Input<T>& X, const Head<T>& head, T* out, int n_threads) const {
  return run(X, &head, out, n_threads);
}

template <class T>
bool Model<T>::run(const Input<T>& X, const Head<T>* head, T* out, int n_threads) const {
  // Chosen from the total number of rows, never per thread: the bits must not depend on threads.
  return X.n_rows < one_row_below() ? run_rows(X, head, out) : run_batch(X, head, out, n_threads);
}

template <class T>
bool Model<T>::run_rows(const Input<T>& X, const Head<T>* head, T* out) const {
  constexpr int64_t slack = 64;  // vectors may read and write past the end
  Buffer<T> x(n_features_ + slack), phases(n_projections_ + 4 * slack);
  Buffer<T> scratch(structure_->row_scratch()), features(head != nullptr ? n_outputs_ : 0);
  std::fill(x.data() + n_features_, x.data() + x.size(), T(0));
  for (int64_t i = 0; i < X.n_rows; i++) {
    if (!kernels_.copy_row(X, i, x.data())) return false;
    structure_->run_row(x.data(), scratch.data(), phases.data());
    T* row = head != nullptr ? features.data() : out + i * n_outputs_;
    kernels_.finish_row(phases.data(), offsets_.data(), amplitudes_.data(), n_projections_,
                        n_outputs_, paired_, rectified_, row);
    if (head == nullptr) continue;
    for (int32_t c = 0; c < head->n_scores; c++) {
      out[i * head->n_scores + c] =
          kernels_.dot(row, head->coef + int64_t(c) * n_outputs_, n_outputs_) + head->intercept[c];
    }
  }
  return true;
}

template <class T>
bool Model<T>::run_batch(const Input<T>& X, const Head<T>* head, T* out, int n_threads) const {
  const int32_t width = structure_->panel_width();
  const int64_t n_panels = (X.n_rows + width - 1) / width;
  n_threads = static_cast<int>(std::max<int64_t>(
      1, std::min({int64_t(n_threads), int64_t(get_num_threads()), X.n_rows / kRowsPerThread})));

  // All memory is taken before the first thread starts: running out of it is an exception here.
  std::vector<Workspace<T>> workspaces;
  for (int t = 0; t < n_threads; t++) {
    workspaces.emplace_back(int64_t(n_features_) * width, structure_->panel_scratch(),
                            int64_t(kSinkRows) * width,
                            head != nullptr ? int64_t(head->n_scores) * width : 0);
  }
  const bool contiguous = X.column_stride == 1 && X.row_stride == X.n_columns;
  const int64_t panel_bytes = int64_t(width) * n_features_ * int64_t(sizeof(T));
  const int64_t prefetch_bytes = panel_bytes / n_projections_;
  const int64_t row_bytes = int64_t(n_outputs_) * int64_t(sizeof(T));
  const bool past_caches = head == nullptr && X.n_rows * row_bytes > kCachedBytes &&
                           row_bytes % 64 == 0 && reinterpret_cast<uintptr_t>(out) % 64 == 0;
  std::atomic<int64_t> next{0};
  std::atomic<bool> finite{true};

  const auto work = [&](Workspace<T>& space) {
    const int64_t turn = std::max<int64_t>(1, kPanelsPerTurn * kPanelWidth<T> / width);
    for (int64_t begin; finite && (begin = next.fetch_add(turn)) < n_panels;) {
      for (int64_t p = begin; p < std::min(begin + turn, n_panels); p++) {
        const int64_t first = p * width;
        const int32_t count = static_cast<int32_t>(std::min<int64_t>(width, X.n_rows - first));
        if (!kernels_.pack_panel(X, first, count, width, space.panel.data())) {
          finite = false;
          return;
        }
        Sink<T> sink{};
        sink.rows = space.rows.data();
        sink.width = width;
        sink.capacity = kSinkRows;
        sink.n_samples = count;
        sink.n_outputs = n_outputs_;
        sink.paired = paired_;
        sink.rectified = rectified_;
        sink.amplitudes = amplitudes_.data();
        if (contiguous && p + 1 < std::min(begin + turn, n_panels)) {
          sink.next_input = reinterpret_cast<const char*>(X.data + (first + width) * X.row_stride);
          sink.prefetch_bytes = prefetch_bytes;
        }
        if (head != nullptr) {
          std::fill(space.scores.data(), space.scores.data() + space.scores.size(), T(0));
          sink.coef = head->coef;
          sink.n_scores = head->n_scores;
          sink.scores = space.scores.data();
        } else {
          sink.out = out + first * n_outputs_;
          sink.out_stride = n_outputs_;
          sink.past_caches = past_caches;
        }
        structure_->run_panel(space.panel.data(), space.scratch.data(), sink);
        if (head != nullptr) {
          write_scores(*head, space.scores.data(), width, count, out + first * head->n_scores);
        }
      }
    }
  };

  std::vector<std::thread> threads;
  threads.reserve(size_t(n_threads));
  for (int t = 1; t < n_threads; t++) {
    try {
      threads.emplace_back(work, std::ref(workspaces[size_t(t)]));
    } catch (const std::system_error&) {
      break;  // no more threads to be had: those that run share the panels
    }
  }
  work(workspaces[0]);
  for (std::thread& thread : threads) thread.join();
  return finite;
}

template class Model<float>;
template class Model<double>;

}  // namespace cerf
