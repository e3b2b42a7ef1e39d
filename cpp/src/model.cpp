// Runs a packed map over the rows of X: panels, threads, and the choice of the one-row form.
#include <algorithm>
#include <atomic>
#include <vector>

#include "cerf/features.h"
#include "cerf/overlap.h"
#include "cerf/threads.h"
#include "run_together.h"
#include "structures/structure.h"

namespace cerf {
namespace {

// Panels that a thread takes at a time, and the rows below which a second thread saves no time.
constexpr int64_t kPanelsPerTurn = 4;
constexpr int64_t kRowsPerThread = 128;
// A step, of at most 32 rows, fits beside the rows of a cache line that is not complete yet.
constexpr int32_t kSinkRows = 48;
// Outputs of more bytes leave the caches before they are read.
constexpr int64_t kCachedBytes = int64_t(32) << 20;

template <class T>
void write_scores(const Head<T>& head, const T* scores, int32_t width, int32_t n_samples, T* out) {
  for (int32_t s = 0; s < n_samples; s++) {
    for (int64_t c = 0; c < head.n_scores; c++) {
      out[s * head.n_scores + c] = scores[c * width + s] + head.intercept[c];
    }
  }
}

}  // namespace

// What one thread writes to.
template <class T>
struct Model<T>::Workspace {
  Buffer<T> panel, scratch, rows, scores;
};

// One call with many rows: what its threads share.
template <class T>
struct Model<T>::Batch {
  const Input<T>& X;
  const Head<T>* head;  // null: features
  T* out;
  PanelInputs inputs;
  int32_t width;
  int64_t n_panels;
  int64_t turn;            // panels that a thread takes at a time
  int64_t prefetch_bytes;  // of the next panel, a projection; 0 if rows of X are not contiguous
  bool past_caches;
  std::atomic<int64_t> next{0};
  std::atomic<bool> finite{true};
};

template <class T>
Model<T>::Model(std::unique_ptr<Structure<T>> structure, const Outputs& outputs, int32_t n_features,
                const KernelTable<T>& kernels)
    : structure_(std::move(structure)),
      n_features_(n_features),
      n_projections_(outputs.n_projections()),
      n_outputs_(static_cast<int32_t>(outputs.n_outputs)),
      paired_(outputs.paired),
      relu_(outputs.relu),
      offsets_(offset_turns_of<T>(outputs)),
      amplitudes_(packed_amplitudes_of<T>(outputs)),
      kernels_(kernels) {}

template <class T>
Model<T>::Model(Model&&) noexcept = default;
template <class T>
Model<T>::~Model() = default;

template <class T>
int64_t Model<T>::one_row_below() const {
  return structure_->one_row_below();
}

template <class T>
int64_t Model<T>::n_bytes() const {
  return structure_->n_bytes() + offsets_.n_bytes() + amplitudes_.n_bytes();
}

template <class T>
bool Model<T>::transform(const Input<T>& X, T* out, int n_threads) const {
  require(!overlap(extent_of(X), extent_of(out, X.n_rows * n_outputs_)),
          "out shares memory with X: pass an array of its own");
  return run(X, nullptr, out, n_threads);
}

template <class T>
bool Model<T>::scores(const Input<T>& X, const Head<T>& head, T* out, int n_threads) const {
  require(head.n_scores >= 0 && head.n_scores <= kMostScores,
          "n_scores, the number of rows of coef, must be at most 2^24");
  const Extent written = extent_of(out, X.n_rows * head.n_scores);
  require(!overlap(extent_of(X), written) &&
              !overlap(extent_of(head.coef, head.n_scores * n_outputs_), written) &&
              !overlap(extent_of(head.intercept, head.n_scores), written),
          "out shares memory with X, coef or intercept: pass an array of its own");
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
                        n_outputs_, paired_, relu_, row);
    if (head == nullptr) continue;
    for (int64_t c = 0; c < head->n_scores; c++) {
      out[i * head->n_scores + c] =
          kernels_.dot(row, head->coef + c * n_outputs_, n_outputs_) + head->intercept[c];
    }
  }
  return true;
}

template <class T>
bool Model<T>::run_batch(const Input<T>& X, const Head<T>* head, T* out, int n_threads) const {
  const int32_t width = structure_->panel_width();
  const PanelInputs inputs = structure_->panel_inputs();
  n_threads = static_cast<int>(std::max<int64_t>(
      1, std::min({int64_t(n_threads), int64_t(get_num_threads()), X.n_rows / kRowsPerThread})));

  // All memory is taken before the first thread starts: running out of it is an exception here.
  std::vector<Workspace> workspaces;
  for (int t = 0; t < n_threads; t++) {
    workspaces.push_back({.panel = Buffer<T>((int64_t(inputs.n_rows) + 1) * width),
                          .scratch = Buffer<T>(structure_->panel_scratch()),
                          .rows = Buffer<T>(int64_t(kSinkRows) * width),
                          .scores = Buffer<T>(head != nullptr ? head->n_scores * width : 0)});
  }
  const bool contiguous = X.column_stride == 1 && X.row_stride == X.n_columns;
  const int64_t panel_bytes = int64_t(width) * n_features_ * int64_t(sizeof(T));
  const int64_t row_bytes = int64_t(n_outputs_) * int64_t(sizeof(T));
  Batch batch{
      .X = X,
      .head = head,
      .out = out,
      .inputs = inputs,
      .width = width,
      .n_panels = (X.n_rows + width - 1) / width,
      .turn = std::max<int64_t>(1, kPanelsPerTurn * kPanelWidth<T> / width),
      .prefetch_bytes = contiguous ? panel_bytes / n_projections_ : 0,
      .past_caches = head == nullptr && X.n_rows * row_bytes > kCachedBytes &&
                     row_bytes % 64 == 0 && reinterpret_cast<uintptr_t>(out) % 64 == 0,
  };
  run_together(n_threads, [&](int t) { run_panels(batch, workspaces[size_t(t)]); });
  return batch.finite;
}

// Takes panels until none is left, or a value is not finite.
template <class T>
void Model<T>::run_panels(Batch& batch, Workspace& space) const {
  for (int64_t begin;
       batch.finite && (begin = batch.next.fetch_add(batch.turn)) < batch.n_panels;) {
    const int64_t end = std::min(begin + batch.turn, batch.n_panels);
    for (int64_t panel = begin; panel < end; panel++) {
      if (!run_panel(batch, panel, panel + 1 == end, space)) {
        batch.finite = false;
        return;
      }
    }
  }
}

template <class T>
bool Model<T>::run_panel(const Batch& batch, int64_t panel, bool is_last, Workspace& space) const {
  const Input<T>& X = batch.X;
  const Head<T>* head = batch.head;
  const int32_t width = batch.width;
  const int64_t first = panel * width;
  const int32_t count = static_cast<int32_t>(std::min<int64_t>(width, X.n_rows - first));
  if (!kernels_.pack_panel(X, first, count, width, batch.inputs, space.panel.data())) return false;
  Sink<T> sink{};
  sink.rows = space.rows.data();
  sink.width = width;
  sink.capacity = kSinkRows;
  sink.n_samples = count;
  sink.n_outputs = n_outputs_;
  sink.paired = paired_;
  sink.relu = relu_;
  sink.amplitudes = amplitudes_.data();
  if (batch.prefetch_bytes > 0 && !is_last) {
    sink.next_input = reinterpret_cast<const char*>(X.data + (first + width) * X.row_stride);
    sink.prefetch_bytes = batch.prefetch_bytes;
  }
  if (head != nullptr) {
    std::fill(space.scores.data(), space.scores.data() + space.scores.size(), T(0));
    sink.coef = head->coef;
    sink.n_scores = static_cast<int32_t>(head->n_scores);
    sink.scores = space.scores.data();
  } else {
    sink.out = batch.out + first * n_outputs_;
    sink.out_stride = n_outputs_;
    sink.past_caches = batch.past_caches;
  }
  structure_->run_panel(space.panel.data(), space.scratch.data(), sink);
  if (head != nullptr) {
    write_scores(*head, space.scores.data(), width, count, batch.out + first * head->n_scores);
  }
  return true;
}

template <class T, class Map>
Model<T> make_model(const Map& map, const Outputs& outputs, const KernelTable<T>& kernels) {
  check(map, outputs);
  return Model<T>(pack(map, outputs, kernels), outputs, static_cast<int32_t>(map.n_features()),
                  kernels);
}

#define CERF_INSTANTIATE(T)                                                                 \
  template class Model<T>;                                                                  \
  template Model<T> make_model<T>(const DenseMap&, const Outputs&, const KernelTable<T>&);  \
  template Model<T> make_model<T>(const MaskedMap&, const Outputs&, const KernelTable<T>&); \
  template Model<T> make_model<T>(const FastfoodMap&, const Outputs&, const KernelTable<T>&);
CERF_INSTANTIATE(float)
CERF_INSTANTIATE(double)

}  // namespace cerf
