// Radians to turns: what packing does to every frequency, offset and centre.
#pragma once

#include <cmath>

#include "cerf/buffer.h"

namespace cerf {

// Through long double, so that the result is the nearest T to the exact quotient (or next to it).
constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;
template <class T>
T to_turns(double radians) {
  return static_cast<T>(static_cast<long double>(radians) / kTwoPi);
}

template <class T>
Buffer<T> turns_of(const double* radians, int64_t n) {
  Buffer<T> turns(n);
  for (int64_t i = 0; i < n; i++) turns[i] = to_turns<T>(radians[i]);
  return turns;
}

// Offsets lose their whole turns: sums that start near zero round less.
template <class T>
Buffer<T> offset_turns_of(const double* radians, int64_t n) {
  Buffer<T> turns(n);
  for (int64_t i = 0; i < n; i++) {
    const long double exact = static_cast<long double>(radians[i]) / kTwoPi;
    turns[i] = static_cast<T>(exact - std::round(exact));
  }
  return turns;
}

}  // namespace cerf
