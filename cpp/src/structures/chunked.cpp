// Independent masks: every projection reads inputs of its own.
#include <vector>

#include "read_inputs.h"
#include "structures/structure.h"

namespace cerf {
namespace {

template <class T>
class ChunkedStructure final : public Structure<T> {
 public:
  ChunkedStructure(const MaskedMap& map, const Outputs& outputs, const KernelTable<T>& kernels)
      : kernels_(kernels),
        read_(static_cast<int32_t>(map.n_features()), map.mask_inputs, kLineInputs<T>),
        n_projections_(outputs.n_projections()),
        offsets_(packed_offsets_of<T>(outputs)) {
    collect_projections(map, outputs);
    pack_chunks();
    pack_groups(static_cast<int32_t>(map.group_size));
  }

  PanelInputs panel_inputs() const override { return read_.panel_inputs(); }
  int64_t one_row_below() const override { return group_ > 1 ? 24 : 6; }

  int64_t panel_scratch() const override {
    return n_chunks_ > 1 ? static_cast<int64_t>(n_projections_) * kPanelWidth<T> : 0;
  }

  void run_panel(const T* panel, T* scratch, Sink<T>& sink) const override {
    const ChunkedLayout<T> layout{.n_chunks = n_chunks_,
                                  .n_projections = n_projections_,
                                  .pointers = chunk_pointers_.data(),
                                  .rows = rows_.data(),
                                  .weights = weights_.data(),
                                  .offsets = offsets_.data()};
    kernels_.chunked_panel(layout, panel, scratch, sink);
  }

  void run_row(const T* x, T*, T* phases) const override {
    const RowGroupedLayout<T> layout{.n_projections = n_projections_,
                                     .group = group_,
                                     .pointers = group_pointers_.data(),
                                     .inputs = group_inputs_.data(),
                                     .weights = group_weights_.data()};
    kernels_.grouped_row(layout, x, phases);
  }

  int64_t n_bytes() const override {
    return chunk_pointers_.n_bytes() + rows_.n_bytes() + weights_.n_bytes() + read_.n_bytes() +
           group_pointers_.n_bytes() + group_inputs_.n_bytes() + group_weights_.n_bytes();
  }

 private:
  struct Entry {
    int32_t input;
    T weight;
  };

  void collect_projections(const MaskedMap& map, const Outputs& outputs) {
    projections_.resize(static_cast<size_t>(n_projections_));
    const double* values = map.values.data();
    for (size_t m = 0; m + 1 < map.mask_pointers.size(); m++) {
      const int64_t begin = map.mask_pointers[m], end = map.mask_pointers[m + 1];
      const int64_t first = map.projection_pointers[m], last = map.projection_pointers[m + 1];
      for (int64_t i = begin; i < end; i++) {
        for (int64_t k = first; k < last; k++) {
          projections_[static_cast<size_t>(k)].push_back(
              {.input = map.mask_inputs[static_cast<size_t>(i)],
               .weight = packed_phase<T>(*values++, outputs)});
        }
      }
    }
  }

  // A window of 28 kB of panel rows leaves room for the rest in a first-level cache of 32 kB;
  // chunks of fewer than 11 inputs cost more in partial sums than they save.
  void pack_chunks() {
    constexpr int64_t window = 28 * 1024, smallest = 11;
    int64_t n_entries = 0;
    for (const auto& projection : projections_)
      n_entries += static_cast<int64_t>(projection.size());
    const int64_t mean = n_entries / std::max<int64_t>(1, n_projections_);
    const int64_t wanted =
        (static_cast<int64_t>(read_.n_rows()) * kPanelRowBytes + window - 1) / window;
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
          const Entry& entry = projection[static_cast<size_t>(i)];
          rows_[at] = static_cast<uint16_t>(read_.row_of(entry.input));
          weights_[at] = entry.weight;
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
  ReadInputs read_;
  int32_t n_projections_, n_chunks_ = 1, group_ = 1;
  Buffer<T> offsets_;
  std::vector<std::vector<Entry>> projections_;  // only while packing
  Buffer<int64_t> chunk_pointers_, group_pointers_;
  Buffer<uint16_t> rows_;
  Buffer<uint32_t> group_inputs_;
  Buffer<T> weights_, group_weights_;
};

}  // namespace

template <class T>
std::unique_ptr<Structure<T>> pack_chunked(const MaskedMap& map, const Outputs& outputs,
                                           const KernelTable<T>& kernels) {
  return std::make_unique<ChunkedStructure<T>>(map, outputs, kernels);
}

#define CERF_INSTANTIATE(T)                                                                \
  template std::unique_ptr<Structure<T>> pack_chunked<T>(const MaskedMap&, const Outputs&, \
                                                         const KernelTable<T>&);
CERF_INSTANTIATE(float)
CERF_INSTANTIATE(double)

}  // namespace cerf
