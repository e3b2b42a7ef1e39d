// Radians to turns: what packing does to every frequency, offset and centre.
#pragma once

#include "cerf/buffer.h"

namespace cerf {

// Through long double, so that the result is the nearest T to the exact quotient (or next to it).
template <class T>
T to_turns(double radians) {
  constexpr long double two_pi = 6.283185307179586476925286766559005768L;
  return static_cast<T>(static_cast<long double>(radians) / two_pi);
}

template <class T>
Buffer<T> turns_of(const double* radians, int64_t n) {
  Buffer<T> turns(n);
  for (int64_t i = 0; i < n; i++) turns[i] = to_turns<T>(radians[i]);
  return turns;
}

}  // namespace cerf
