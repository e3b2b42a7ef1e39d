// The positive part of a phase, for relu maps.
//
// NumPy: np.maximum(t, 0), and 0 for NaN (a phase that overflowed both ways). Exact.
#pragma once

#include "kernels/vector.h"

namespace cerf::CERF_LEVEL {

template <class T, int B>
CERF_INLINE Vec<T, B> positive_part(Vec<T, B> t) {
  const Vec<T, B> zero{};
  return t > zero ? t : zero;
}

}  // namespace cerf::CERF_LEVEL
