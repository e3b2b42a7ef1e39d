// Fastfood blocks.
#include "structures/structure.h"

namespace cerf {
namespace {

template <class T>
class FastfoodStructure final : public Structure<T> {
 public:
  FastfoodStructure(const FastfoodMap& map, const Outputs& outputs, const KernelTable<T>& kernels)
      : kernels_(kernels),
        signs_(copy_of<T>(map.signs.values())),
        gaussian_diag_(copy_of<T>(map.gaussian_diag.values())),
        row_scale_(turns_of<T>(map.row_scale)),
        offsets_(packed_offsets_of<T>(outputs)),
        permutation_(copy_of<int32_t>(map.permutation.values())),
        kept_rows_(copy_of<int32_t>(map.kept_rows)),
        kept_pointers_(copy_of<int64_t>(map.kept_pointers)) {
    if (map.centres) centres_ = turns_of<T>(map.centres->values());
    layout_ = {.n_inputs = static_cast<int32_t>(map.n_features()),
               .padded = static_cast<int32_t>(map.padded()),
               .n_blocks = static_cast<int32_t>(map.n_blocks()),
               .shared_signs = map.shared_signs(),
               .signs = signs_.data(),
               .gaussian_diag = gaussian_diag_.data(),
               .permutation = permutation_.data(),
               .centres = map.centres ? centres_.data() : nullptr,
               .kept_pointers = kept_pointers_.data(),
               .kept_rows = kept_rows_.data(),
               .row_scale = row_scale_.data(),
               .offsets = offsets_.data()};
  }

  // Every input takes part in the transform.
  PanelInputs panel_inputs() const override {
    return {.n_rows = layout_.n_inputs, .rows = nullptr, .runs = nullptr, .n_runs = 0};
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
std::unique_ptr<Structure<T>> pack(const FastfoodMap& map, const Outputs& outputs,
                                   const KernelTable<T>& kernels) {
  return std::make_unique<FastfoodStructure<T>>(map, outputs, kernels);
}

#define CERF_INSTANTIATE(T)                                                          \
  template std::unique_ptr<Structure<T>> pack<T>(const FastfoodMap&, const Outputs&, \
                                                 const KernelTable<T>&);
CERF_INSTANTIATE(float)
CERF_INSTANTIATE(double)

}  // namespace cerf
