// Whether two arrays may share memory, by their bounds (np.may_share_memory).
#pragma once

#include <algorithm>
#include <cstdint>

#include "cerf/layout.h"

namespace cerf {

// Addresses from the first byte of an array to one past its last; equal if it is empty.
struct Extent {
  uintptr_t begin, end;
};

template <class T>
Extent extent_of(const Input<T>& X) {
  if (X.n_rows <= 0 || X.n_columns <= 0) return {0, 0};
  const int64_t down = (X.n_rows - 1) * X.row_stride, across = (X.n_columns - 1) * X.column_stride;
  const int64_t low = std::min<int64_t>(0, down) + std::min<int64_t>(0, across);
  const int64_t high = std::max<int64_t>(0, down) + std::max<int64_t>(0, across);
  return {reinterpret_cast<uintptr_t>(X.data + low),
          reinterpret_cast<uintptr_t>(X.data + high + 1)};
}
template <class T>
Extent extent_of(const T* data, int64_t size) {
  return size > 0
             ? Extent{reinterpret_cast<uintptr_t>(data), reinterpret_cast<uintptr_t>(data + size)}
             : Extent{0, 0};
}

inline bool overlap(const Extent& a, const Extent& b) {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace cerf
