// Runs a packed map over the rows of X: panels, threads, and the choice of the one-row form.
#include <algorithm>
#include <optional>
#include <vector>

#include "cerf/features.h"
#include "cerf/overlap.h"
#include "panels.h"
#include "read_inputs.h"
#include "structures/structure.h"

namespace cerf {
namespace {

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

// What one thread writes to, beside its panel.
template <class T>
struct Model<T>::Workspace {
  Buffer<T> scratch, rows, scores;
};

// One call with many rows: what its threads share.
template <class T>
struct Model<T>::Batch {
  const Head<T>* head;  // null: features
  T* out;
  PanelInputs inputs;
  int32_t width;
  bool past_caches;
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
      offsets_(packed_offsets_of<T>(outputs)),
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
  require(head.linear == nullptr || (head.linear->n_features() == n_features_ &&
                                     head.linear->n_scores() == head.n_scores),
          "the linear part has another number of inputs or scores than the model and coef");
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
  Buffer<T> linear;
  if (head != nullptr && head->linear != nullptr) linear = Buffer<T>(head->n_scores);
  std::fill(x.data() + n_features_, x.data() + x.size(), T(0));
  for (int64_t i = 0; i < X.n_rows; i++) {
    if (!kernels_.copy_row(X, i, x.data())) return false;
    structure_->run_row(x.data(), scratch.data(), phases.data());
    T* row = head != nullptr ? features.data() : out + i * n_outputs_;
    kernels_.finish_row(phases.data(), offsets_.data(), amplitudes_.data(), n_projections_,
                        n_outputs_, paired_, relu_, row);
    if (head == nullptr) continue;
    T* const scores = out + i * head->n_scores;
    for (int64_t c = 0; c < head->n_scores; c++) {
      scores[c] = kernels_.dot(row, head->coef + c * n_outputs_, n_outputs_) + head->intercept[c];
    }
    if (head->linear == nullptr) continue;
    kernels_.linear_row(head->linear->layout(), x.data(), linear.data());
    for (int64_t c = 0; c < head->n_scores; c++) scores[c] += linear[c];
  }
  return true;
}

template <class T>
bool Model<T>::run_batch(const Input<T>& X, const Head<T>* head, T* out, int n_threads) const {
  const int32_t width = structure_->panel_width();
  PanelInputs inputs = structure_->panel_inputs();
  std::optional<ReadInputs> more;  // what the linear part reads beside the map
  if (head != nullptr && head->linear != nullptr) {
    more.emplace(inputs, n_features_, head->linear->inputs(), kLineInputs<T>);
    inputs = more->panel_inputs();
  }
  n_threads = threads_for(X.n_rows, n_threads);
  std::vector<Workspace> workspaces;
  for (int t = 0; t < n_threads; t++) {
    workspaces.push_back({.scratch = Buffer<T>(structure_->panel_scratch()),
                          .rows = Buffer<T>(int64_t(kSinkRows) * width),
                          .scores = Buffer<T>(head != nullptr ? head->n_scores * width : 0)});
  }
  const int64_t row_bytes = int64_t(n_outputs_) * int64_t(sizeof(T));
  const Batch batch{
      .head = head,
      .out = out,
      .inputs = inputs,
      .width = width,
      .past_caches = head == nullptr && X.n_rows * row_bytes > kCachedBytes &&
                     row_bytes % 64 == 0 && reinterpret_cast<uintptr_t>(out) % 64 == 0,
  };
  return for_each_panel(X, inputs, width, n_threads, kernels_, [&](int t, const Panel<T>& panel) {
    run_panel(batch, panel, workspaces[size_t(t)]);
  });
}

template <class T>
void Model<T>::run_panel(const Batch& batch, const Panel<T>& panel, Workspace& space) const {
  const Head<T>* head = batch.head;
  Sink<T> sink{};
  sink.rows = space.rows.data();
  sink.width = batch.width;
  sink.capacity = kSinkRows;
  sink.n_samples = panel.count;
  sink.n_outputs = n_outputs_;
  sink.paired = paired_;
  sink.relu = relu_;
  sink.amplitudes = amplitudes_.data();
  prefetch_next(panel, n_projections_, sink);
  if (head != nullptr) {
    sink.coef = head->coef;
    sink.n_scores = static_cast<int32_t>(head->n_scores);
    sink.scores = space.scores.data();
    if (head->linear != nullptr) {
      kernels_.linear_panel(head->linear->layout(), batch.inputs.rows, panel.values, batch.width,
                            sink.scores);
    } else {
      std::fill(sink.scores, sink.scores + space.scores.size(), T(0));
    }
  } else {
    sink.out = batch.out + panel.first * n_outputs_;
    sink.out_stride = n_outputs_;
    sink.past_caches = batch.past_caches;
  }
  structure_->run_panel(panel.values, space.scratch.data(), sink);
  if (head != nullptr) {
    write_scores(*head, space.scores.data(), batch.width, panel.count,
                 batch.out + panel.first * head->n_scores);
  }
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
