#include "cerf/linear.h"

#include "structures/structure.h"

namespace cerf {

template <class T>
Linear<T>::Linear(const LinearMap& map) {
  check(map);
  n_features_ = static_cast<int32_t>(map.n_inputs);
  n_scores_ = static_cast<int32_t>(map.n_scores());
  pointers_ = copy_of<int64_t>(map.pointers);
  inputs_ = copy_of<int32_t>(map.inputs);
  values_ = copy_of<T>(map.values);
}

template class Linear<float>;
template class Linear<double>;

}  // namespace cerf
