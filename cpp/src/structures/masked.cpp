// Which structure a masked map has.
#include "structures/structure.h"

namespace cerf {

template <class T>
std::unique_ptr<Structure<T>> pack(const MaskedMap& map, const Outputs& outputs,
                                   const KernelTable<T>& kernels) {
  // Below three projections a mask, the shared kernel loads the panel too often. It is still used
  // for maps of more inputs than the chunked layout can number.
  const bool independent = outputs.n_projections() < 3 * map.n_masks();
  return independent && map.n_features() <= kChunkedInputs ? pack_chunked(map, outputs, kernels)
                                                           : pack_shared(map, outputs, kernels);
}

#define CERF_INSTANTIATE(T)                                                        \
  template std::unique_ptr<Structure<T>> pack<T>(const MaskedMap&, const Outputs&, \
                                                 const KernelTable<T>&);
CERF_INSTANTIATE(float)
CERF_INSTANTIATE(double)

}  // namespace cerf
