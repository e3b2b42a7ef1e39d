// From a map's arrays to the layouts that the kernels read.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "cerf/features.h"
#include "cerf/turns.h"

namespace cerf {
namespace {

template <class T, class U>
Buffer<T> copy_of(const U* source, int64_t n) {
  Buffer<T> copy(n);
  std::transform(source, source + n, copy.data(), [](U x) { return static_cast<T>(x); });
  return copy;
}

uint32_t panel_offset(int32_t input) {
  return static_cast<uint32_t>(input) * static_cast<uint32_t>(kPanelRowBytes);
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
  int32_t first(int32_t m) const { return static_cast<int32_t>(projection_pointers[m]); }
  int32_t count(int32_t m) const {
    return static_cast<int32_t>(projection_pointers[m + 1] - projection_pointers[m]);
  }
};

template <class T>
class SharedStructure final : public Structure<T> {
 public:
  SharedStructure(const MaskView& view, const Outputs& outputs, const KernelTable<T>& kernels)
      : kernels_(kernels), offsets_(offset_turns_of<T>(outputs)) {
    pack_steps(view);
    pack_row_source(view);
  }

  int64_t one_row_below() const override { return 24; }

  void run_panel(const T* panel, T*, Sink<T>& sink) const override {
    const SharedLayout<T> layout{static_cast<int64_t>(steps_.size()), steps_.data(),
                                 rows_.size() > 0 ? rows_.data() : nullptr, weights_.data(),
                                 offsets_.data()};
    kernels_.shared_panel(layout, panel, sink);
  }

  void run_row(const T* x, T*, T* phases) const override {
    std::call_once(row_once_, [this] { pack_row_weights(); });
    const RowSharedLayout<T> layout{static_cast<int64_t>(units_.size()), units_.data(),
                                    inputs_.size() > 0 ? inputs_.data() : nullptr,
                                    row_weights_.data()};
    kernels_.shared_row(layout, x, phases);
  }

  int64_t n_bytes() const override {
    return weights_.n_bytes() + rows_.n_bytes() + inputs_.n_bytes() +
           (row_packed_ ? n_row_weights_ * static_cast<int64_t>(sizeof(T)) : 0) +
           static_cast<int64_t>(steps_.size() * sizeof(Step) + units_.size() * sizeof(RowUnit));
  }

 private:
  // 16 projections become steps of 6, 5 and 5 rather than 6, 6 and 4.
  void pack_steps(const MaskView& view) {
    int64_t n_weights = 0, n_rows = 0;
    for (int32_t m = 0; m < view.n_masks; m++) {
      const int32_t n_inputs = view.n_inputs(m), count = view.count(m);
      const int32_t parts = (count + kStepProjections - 1) / kStepProjections;
      for (int32_t p = 0, first = 0; p < parts; p++) {
        const int32_t size = (count - first + parts - p - 1) / (parts - p);
        steps_.push_back({n_rows, n_weights, n_inputs, view.first(m) + first, size});
        n_weights += static_cast<int64_t>(size) * n_inputs;
        first += size;
      }
      if (!view.dense()) n_rows += n_inputs;
    }
    weights_ = Buffer<T>(n_weights);
    if (!view.dense()) {
      rows_ = Buffer<uint32_t>(n_rows + kPrefetchRows);
      for (int64_t i = 0; i < n_rows; i++) rows_[i] = panel_offset(view.mask_inputs[i]);
      std::fill(rows_.data() + n_rows, rows_.data() + rows_.size(), 0u);
    }
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
                to_turns<T>(values[static_cast<int64_t>(i) * count + at + f]);
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
        units_.push_back({view.dense() ? 0 : view.mask_pointers[m] - view.mask_pointers[0],
                          n_weights, view.n_inputs(m), view.first(m) + first, width});
        n_weights += static_cast<int64_t>(width) * view.n_inputs(m);
      }
    }
    n_row_weights_ = n_weights;
    if (!view.dense()) {
      inputs_ = copy_of<uint32_t>(view.mask_inputs, view.mask_pointers[view.n_masks]);
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
  std::vector<Step> steps_;
  Buffer<uint32_t> rows_, inputs_;
  Buffer<T> weights_, offsets_;
  std::vector<RowUnit> units_;
  int64_t n_row_weights_ = 0;
  mutable std::once_flag row_once_;
  mutable std::atomic<bool> row_packed_{false};  // n_bytes may be asked while it is being built
  mutable Buffer<T> row_weights_;
};

template <class T>
class ChunkedStructure final : public Structure<T> {
 public:
  ChunkedStructure(const MaskedMap& map, const Outputs& outputs, const KernelTable<T>& kernels)
      : kernels_(kernels),
        n_projections_(outputs.n_projections()),
        offsets_(offset_turns_of<T>(outputs)) {
    collect_projections(map);
    pack_chunks(map.n_features);
    pack_groups(map.group_size);
  }

  int64_t one_row_below() const override { return group_ > 1 ? 24 : 6; }

  int64_t panel_scratch() const override {
    return n_chunks_ > 1 ? static_cast<int64_t>(n_projections_) * kPanelWidth<T> : 0;
  }

  void run_panel(const T* panel, T* scratch, Sink<T>& sink) const override {
    const ChunkedLayout<T> layout{n_chunks_,    n_projections_,  chunk_pointers_.data(),
                                  rows_.data(), weights_.data(), offsets_.data()};
    kernels_.chunked_panel(layout, panel, scratch, sink);
  }

  void run_row(const T* x, T*, T* phases) const override {
    const RowGroupedLayout<T> layout{n_projections_, group_, group_pointers_.data(),
                                     group_inputs_.data(), group_weights_.data()};
    kernels_.grouped_row(layout, x, phases);
  }

  int64_t n_bytes() const override {
    return chunk_pointers_.n_bytes() + rows_.n_bytes() + weights_.n_bytes() +
           group_pointers_.n_bytes() + group_inputs_.n_bytes() + group_weights_.n_bytes();
  }

 private:
  struct Entry {
    int32_t input;
    T weight;
  };

  void collect_projections(const MaskedMap& map) {
    projections_.resize(static_cast<size_t>(n_projections_));
    const double* values = map.values;
    for (int32_t m = 0; m < map.n_masks; m++) {
      const int64_t begin = map.mask_pointers[m], end = map.mask_pointers[m + 1];
      const int64_t first = map.projection_pointers[m], last = map.projection_pointers[m + 1];
      for (int64_t i = begin; i < end; i++) {
        for (int64_t k = first; k < last; k++) {
          projections_[static_cast<size_t>(k)].push_back(
              {map.mask_inputs[i], to_turns<T>(*values++)});
        }
      }
    }
  }

  // A window of 28 kB of panel rows leaves room for the rest in a first-level cache of 32 kB;
  // chunks of fewer than 11 inputs cost more in partial sums than they save.
  void pack_chunks(int32_t n_features) {
    constexpr int64_t window = 28 * 1024, smallest = 11;
    int64_t n_entries = 0;
    for (const auto& projection : projections_)
      n_entries += static_cast<int64_t>(projection.size());
    const int64_t mean = n_entries / std::max<int64_t>(1, n_projections_);
    const int64_t wanted =
        (static_cast<int64_t>(n_features) * kPanelRowBytes + window - 1) / window;
    n_chunks_ = static_cast<int32_t>(std::max<int64_t>(1, std::min(wanted, mean / smallest)));
    chunk_pointers_ = Buffer<int64_t>(static_cast<int64_t>(n_chunks_) * (n_projections_ + 1));
    rows_ = Buffer<uint16_t>(n_entries);
    weights_ = Buffer<T>(n_entries);
    int64_t at = 0, pointer = 0;
    for (int64_t c = 0; c < n_chunks_; c++) {
      for (const auto& projection : projections_) {
        chunk_pointers_[pointer++] = at;
        const int64_t size = static_cast<int64_t>(projection.size());
        for (int64_t i = c * size / n_chunks_; i < (c + 1) * size / n_chunks_; i++, at++) {
          rows_[at] = static_cast<uint16_t>(projection[static_cast<size_t>(i)].input);
          weights_[at] = projection[static_cast<size_t>(i)].weight;
        }
      }
      chunk_pointers_[pointer++] = at;
    }
  }

  // Groups as wide as a narrow vector or more are multiplied as vectors; an input missing from a
  // group has weight zero. Narrower groups are stored input by input.
  void pack_groups(int32_t group_size) {
    const int32_t lanes = kernels_.fastfood_width;
    group_ = group_size < lanes ? 1 : std::min(group_size, 4 * lanes);
    group_pointers_ = Buffer<int64_t>(n_projections_ + 1);
    std::vector<uint32_t> inputs;
    std::vector<T> weights;
    int64_t k = 0;
    for (const auto& projection : projections_) {
      group_pointers_[k++] = static_cast<int64_t>(inputs.size());
      const size_t begin = inputs.size();
      for (const Entry& entry : projection) {
        const uint32_t start = static_cast<uint32_t>(entry.input / group_ * group_);
        if (inputs.size() == begin || inputs.back() != start) {
          inputs.push_back(start);
          weights.resize(weights.size() + static_cast<size_t>(group_), T(0));
        }
        weights[weights.size() - static_cast<size_t>(group_ - entry.input % group_)] = entry.weight;
      }
    }
    group_pointers_[k] = static_cast<int64_t>(inputs.size());
    group_inputs_ = copy_of<uint32_t>(inputs.data(), static_cast<int64_t>(inputs.size()));
    group_weights_ = copy_of<T>(weights.data(), static_cast<int64_t>(weights.size()));
    projections_ = {};
  }

  const KernelTable<T>& kernels_;
  int32_t n_projections_, n_chunks_ = 1, group_ = 1;
  Buffer<T> offsets_;
  std::vector<std::vector<Entry>> projections_;  // only while packing
  Buffer<int64_t> chunk_pointers_, group_pointers_;
  Buffer<uint16_t> rows_;
  Buffer<uint32_t> group_inputs_;
  Buffer<T> weights_, group_weights_;
};

template <class T>
class FastfoodStructure final : public Structure<T> {
 public:
  FastfoodStructure(const FastfoodMap& map, const Outputs& outputs, const KernelTable<T>& kernels)
      : kernels_(kernels),
        signs_(copy_of<T>(map.signs, int64_t(map.padded) * (map.shared_signs ? 1 : map.n_blocks))),
        gaussian_diag_(copy_of<T>(map.gaussian_diag, int64_t(map.padded) * map.n_blocks)),
        row_scale_(turns_of<T>(map.row_scale, outputs.n_projections())),
        offsets_(offset_turns_of<T>(outputs)),
        permutation_(copy_of<int32_t>(map.permutation, int64_t(map.padded) * map.n_blocks)),
        kept_rows_(copy_of<int32_t>(map.kept_rows, outputs.n_projections())),
        kept_pointers_(copy_of<int64_t>(map.kept_pointers, map.n_blocks + 1)) {
    if (map.centres != nullptr) {
      centres_ = turns_of<T>(map.centres, int64_t(map.n_blocks) * map.n_features);
    }
    layout_ = {map.n_features,        map.padded,
               map.n_blocks,          map.shared_signs,
               signs_.data(),         gaussian_diag_.data(),
               permutation_.data(),   map.centres != nullptr ? centres_.data() : nullptr,
               kept_pointers_.data(), kept_rows_.data(),
               row_scale_.data(),     offsets_.data()};
  }

  int64_t one_row_below() const override { return 12; }
  int32_t panel_width() const override { return kernels_.fastfood_width; }
  int64_t panel_scratch() const override { return 2 * int64_t(layout_.padded) * panel_width(); }
  int64_t row_scratch() const override { return 2 * std::max<int64_t>(layout_.padded, 16); }
  void run_panel(const T* panel, T* scratch, Sink<T>& sink) const override {
    kernels_.fastfood_panel(layout_, panel, scratch, sink);
  }
  void run_row(const T* x, T* scratch, T* phases) const override {
    kernels_.fastfood_row(layout_, x, scratch, phases);
  }
  int64_t n_bytes() const override {
    return signs_.n_bytes() + gaussian_diag_.n_bytes() + row_scale_.n_bytes() +
           permutation_.n_bytes() + kept_rows_.n_bytes() + kept_pointers_.n_bytes() +
           centres_.n_bytes();
  }

 private:
  const KernelTable<T>& kernels_;
  Buffer<T> signs_, gaussian_diag_, row_scale_, offsets_, centres_;
  Buffer<int32_t> permutation_, kept_rows_;
  Buffer<int64_t> kept_pointers_;
  FastfoodLayout<T> layout_;
};

}  // namespace

template <class T>
std::unique_ptr<Structure<T>> pack_dense(const DenseMap& map, const Outputs& outputs,
                                         const KernelTable<T>& kernels) {
  const int64_t pointers[2] = {0, outputs.n_projections()};
  const MaskView view{map.n_features, 1, nullptr, nullptr, pointers, map.frequencies};
  return std::make_unique<SharedStructure<T>>(view, outputs, kernels);
}

template <class T>
std::unique_ptr<Structure<T>> pack_masked(const MaskedMap& map, const Outputs& outputs,
                                          const KernelTable<T>& kernels) {
  // Below three projections a mask, the shared kernel loads the panel too often. It still serves
  // maps of more inputs than the chunked layout can number.
  if (outputs.n_projections() < 3 * int64_t(map.n_masks) && map.n_features <= kChunkedInputs) {
    return std::make_unique<ChunkedStructure<T>>(map, outputs, kernels);
  }
  const MaskView view{map.n_features,          map.n_masks, map.mask_pointers, map.mask_inputs,
                      map.projection_pointers, map.values};
  return std::make_unique<SharedStructure<T>>(view, outputs, kernels);
}

template <class T>
std::unique_ptr<Structure<T>> pack_fastfood(const FastfoodMap& map, const Outputs& outputs,
                                            const KernelTable<T>& kernels) {
  return std::make_unique<FastfoodStructure<T>>(map, outputs, kernels);
}

#define CERF_INSTANTIATE(T)                                                                   \
  template std::unique_ptr<Structure<T>> pack_dense<T>(const DenseMap&, const Outputs&,       \
                                                       const KernelTable<T>&);                \
  template std::unique_ptr<Structure<T>> pack_masked<T>(const MaskedMap&, const Outputs&,     \
                                                        const KernelTable<T>&);               \
  template std::unique_ptr<Structure<T>> pack_fastfood<T>(const FastfoodMap&, const Outputs&, \
                                                          const KernelTable<T>&);
CERF_INSTANTIATE(float)
CERF_INSTANTIATE(double)

}  // namespace cerf
