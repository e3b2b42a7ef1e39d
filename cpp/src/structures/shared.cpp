// Dense maps and masks shared by several projections.
#include <atomic>
#include <mutex>
#include <vector>

#include "read_inputs.h"
#include "structures/structure.h"

namespace cerf {
namespace {

uint32_t panel_offset(int32_t row) {
  return static_cast<uint32_t>(row) * static_cast<uint32_t>(kPanelRowBytes);
}

// Dense maps are one mask of all inputs without an input list.
struct MaskView {
  int32_t n_features, n_masks;
  const int64_t* mask_pointers;  // null: dense
  const int32_t* mask_inputs;
  const int64_t* projection_pointers;
  const double* values;
  bool dense() const { return mask_inputs == nullptr; }
  int32_t n_inputs(int32_t m) const {
    return dense() ? n_features : static_cast<int32_t>(mask_pointers[m + 1] - mask_pointers[m]);
  }
  std::span<const int32_t> inputs() const {
    return {mask_inputs, static_cast<size_t>(mask_pointers[n_masks])};
  }
  int32_t first(int32_t m) const { return static_cast<int32_t>(projection_pointers[m]); }
  int32_t count(int32_t m) const {
    return static_cast<int32_t>(projection_pointers[m + 1] - projection_pointers[m]);
  }
};

template <class T>
class SharedStructure final : public Structure<T> {
 public:
  SharedStructure(const MaskView& view, const Outputs& outputs, const KernelTable<T>& kernels)
      : kernels_(kernels),
        read_(view.dense() ? ReadInputs(view.n_features)
                           : ReadInputs(view.n_features, view.inputs(), kLineInputs<T>)),
        offsets_(packed_offsets_of<T>(outputs)) {
    pack_steps(view, outputs);
    pack_row_source(view);
  }

  PanelInputs panel_inputs() const override { return read_.panel_inputs(); }
  int64_t one_row_below() const override { return 24; }

  void run_panel(const T* panel, T*, Sink<T>& sink) const override {
    const SharedLayout<T> layout{.n_steps = static_cast<int64_t>(steps_.size()),
                                 .steps = steps_.data(),
                                 .rows = rows_.size() > 0 ? rows_.data() : nullptr,
                                 .weights = weights_.data(),
                                 .offsets = offsets_.data()};
    kernels_.shared_panel(layout, panel, sink);
  }

  void run_row(const T* x, T*, T* phases) const override {
    std::call_once(row_once_, [this] { pack_row_weights(); });
    const RowSharedLayout<T> layout{.n_units = static_cast<int64_t>(units_.size()),
                                    .units = units_.data(),
                                    .inputs = inputs_.size() > 0 ? inputs_.data() : nullptr,
                                    .weights = row_weights_.data()};
    kernels_.shared_row(layout, x, phases);
  }

  int64_t n_bytes() const override {
    return weights_.n_bytes() + rows_.n_bytes() + inputs_.n_bytes() + read_.n_bytes() +
           (row_packed_ ? n_row_weights_ * static_cast<int64_t>(sizeof(T)) : 0) +
           static_cast<int64_t>(steps_.size() * sizeof(Step) + units_.size() * sizeof(RowUnit));
  }

 private:
  // 16 projections become steps of 6, 5 and 5 rather than 6, 6 and 4.
  void pack_steps(const MaskView& view, const Outputs& outputs) {
    int64_t n_weights = 0, n_rows = 0;
    for (int32_t m = 0; m < view.n_masks; m++) {
      const int32_t n_inputs = view.n_inputs(m), count = view.count(m);
      const int32_t parts = (count + kStepProjections - 1) / kStepProjections;
      for (int32_t p = 0, first = 0; p < parts; p++) {
        const int32_t size = (count - first + parts - p - 1) / (parts - p);
        steps_.push_back({.row_begin = n_rows,
                          .weight_begin = n_weights,
                          .n_rows = n_inputs,
                          .first = view.first(m) + first,
                          .count = size});
        n_weights += static_cast<int64_t>(size) * n_inputs;
        first += size;
      }
      if (!view.dense()) n_rows += n_inputs;
    }
    weights_ = Buffer<T>(n_weights);
    pack_weights(view, outputs);
    if (!view.dense()) {
      rows_ = Buffer<uint32_t>(n_rows + kPrefetchRows);
      for (int64_t i = 0; i < n_rows; i++) {
        rows_[i] = panel_offset(read_.row_of(view.mask_inputs[i]));
      }
      std::fill(rows_.data() + n_rows, rows_.data() + rows_.size(), 0u);
    }
  }

  void pack_weights(const MaskView& view, const Outputs& outputs) {
    size_t s = 0;
    const double* values = view.values;
    for (int32_t m = 0; m < view.n_masks; m++) {
      const int32_t count = view.count(m), n_inputs = view.n_inputs(m);
      for (; s < steps_.size() && steps_[s].first < view.first(m) + count; s++) {
        T* weights = weights_.data() + steps_[s].weight_begin;
        const int32_t at = steps_[s].first - view.first(m), size = steps_[s].count;
        for (int32_t i = 0; i < n_inputs; i++) {
          for (int32_t f = 0; f < size; f++) {
            weights[static_cast<int64_t>(i) * size + f] =
                packed_phase<T>(values[static_cast<int64_t>(i) * count + at + f], outputs);
          }
        }
      }
      values += static_cast<int64_t>(count) * n_inputs;
    }
  }

  // The one-row layout has the same masks in units padded to whole vectors; dense maps are cut
  // into units of four vectors, so that a row of weights is a few cache lines.
  void pack_row_source(const MaskView& view) {
    const int32_t lanes = kernels_.lanes;
    int64_t n_weights = 0;
    for (int32_t m = 0; m < view.n_masks; m++) {
      const int32_t count = view.count(m), most = view.dense() ? 4 * lanes : count;
      for (int32_t first = 0; first < count; first += most) {
        const int32_t size = std::min(most, count - first);
        const int32_t width = (size + lanes - 1) / lanes * lanes;
        units_.push_back({.row_begin = view.dense() ? 0 : view.mask_pointers[m],
                          .weight_begin = n_weights,
                          .n_rows = view.n_inputs(m),
                          .first = view.first(m) + first,
                          .width = width});
        n_weights += static_cast<int64_t>(width) * view.n_inputs(m);
      }
    }
    n_row_weights_ = n_weights;
    if (!view.dense()) {
      inputs_ = copy_of<uint32_t>(view.inputs());
    }
  }

  // Fills the one-row weights from the batch weights.
  void pack_row_weights() const {
    Buffer<T> weights(n_row_weights_);
    std::fill(weights.data(), weights.data() + weights.size(), T(0));
    size_t u = 0;
    for (const Step& step : steps_) {
      for (int32_t f = 0; f < step.count; f++) {
        const int32_t k = step.first + f;
        while (u + 1 < units_.size() && units_[u + 1].first <= k) u++;
        T* column = weights.data() + units_[u].weight_begin + (k - units_[u].first);
        for (int32_t i = 0; i < step.n_rows; i++) {
          column[static_cast<int64_t>(i) * units_[u].width] =
              weights_[step.weight_begin + static_cast<int64_t>(i) * step.count + f];
        }
      }
    }
    row_weights_ = std::move(weights);
    row_packed_ = true;
  }

  const KernelTable<T>& kernels_;
  ReadInputs read_;
  std::vector<Step> steps_;
  Buffer<uint32_t> rows_, inputs_;
  Buffer<T> weights_, offsets_;
  std::vector<RowUnit> units_;
  int64_t n_row_weights_ = 0;
  mutable std::once_flag row_once_;
  mutable std::atomic<bool> row_packed_{false};  // n_bytes may be read while it is being built
  mutable Buffer<T> row_weights_;
};

}  // namespace

template <class T>
std::unique_ptr<Structure<T>> pack(const DenseMap& map, const Outputs& outputs,
                                   const KernelTable<T>& kernels) {
  const int64_t pointers[2] = {0, outputs.n_projections()};
  const MaskView view{.n_features = static_cast<int32_t>(map.n_features()),
                      .n_masks = 1,
                      .mask_pointers = nullptr,
                      .mask_inputs = nullptr,
                      .projection_pointers = pointers,
                      .values = map.frequencies.data};
  return std::make_unique<SharedStructure<T>>(view, outputs, kernels);
}

template <class T>
std::unique_ptr<Structure<T>> pack_shared(const MaskedMap& map, const Outputs& outputs,
                                          const KernelTable<T>& kernels) {
  const MaskView view{.n_features = static_cast<int32_t>(map.n_features()),
                      .n_masks = static_cast<int32_t>(map.n_masks()),
                      .mask_pointers = map.mask_pointers.data(),
                      .mask_inputs = map.mask_inputs.data(),
                      .projection_pointers = map.projection_pointers.data(),
                      .values = map.values.data()};
  return std::make_unique<SharedStructure<T>>(view, outputs, kernels);
}

#define CERF_INSTANTIATE(T)                                                               \
  template std::unique_ptr<Structure<T>> pack<T>(const DenseMap&, const Outputs&,         \
                                                 const KernelTable<T>&);                  \
  template std::unique_ptr<Structure<T>> pack_shared<T>(const MaskedMap&, const Outputs&, \
                                                        const KernelTable<T>&);
CERF_INSTANTIATE(float)
CERF_INSTANTIATE(double)

}  // namespace cerf
