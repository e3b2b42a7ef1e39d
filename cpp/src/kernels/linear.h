// The linear part of scores.
//
// NumPy: X @ linear with a sparse matrix (n_features, n_scores), score by score. A score of m terms
// is off by at most u m sum |w x|.
#pragma once

#include "kernels/vector.h"

namespace cerf::CERF_LEVEL {

// One score of V vectors of samples. kAll: input d is panel row d.
template <class T, int V, int B, bool kAll>
CERF_INLINE void linear_score(const LinearLayout<T>& map, int32_t score, const int32_t* rows,
                              const T* panel, int32_t width, T* out) {
  constexpr int w = kLanes<T, B>;
  Vec<T, B> sum[V] = {};
  for (int64_t i = map.pointers[score]; i < map.pointers[score + 1]; i++) {
    const int64_t row = kAll ? map.inputs[i] : rows[map.inputs[i]];
    const Vec<T, B> b = broadcast<T, B>(map.values[i]);
    CERF_UNROLL for (int v = 0; v < V; v++)
      sum[v] += b * load<T, B>(panel + row * width + v * w);
  }
  CERF_UNROLL for (int v = 0; v < V; v++)
    store<T, B>(out + v * w, sum[v]);
}

template <class T, int V, int B>
void linear_scores(const LinearLayout<T>& map, const int32_t* rows, const T* panel, int32_t width,
                   T* scores) {
  for (int32_t s = 0; s < width; s += V * kLanes<T, B>) {
    for (int32_t o = 0; o < map.n_scores; o++) {
      T* const out = scores + static_cast<int64_t>(o) * width + s;
      if (rows == nullptr) {
        linear_score<T, V, B, true>(map, o, rows, panel + s, width, out);
      } else {
        linear_score<T, V, B, false>(map, o, rows, panel + s, width, out);
      }
    }
  }
}

template <class T>
void linear_panel(const LinearLayout<T>& map, const int32_t* rows, const T* panel, int32_t width,
                  T* scores) {
  if (width == kPanelWidth<T>) {
    linear_scores<T, kVectorBytes == 64 ? 4 : 8, kVectorBytes>(map, rows, panel, width, scores);
  } else {
    linear_scores<T, 1, kNarrowBytes>(map, rows, panel, width, scores);
  }
}

// Four scalar sums hide the latency of the multiply-add.
template <class T>
CERF_SCALAR void linear_row(const LinearLayout<T>& map, const T* x, T* scores) {
  for (int32_t o = 0; o < map.n_scores; o++) {
    const int64_t end = map.pointers[o + 1];
    T a = 0, b = 0, c = 0, d = 0;
    int64_t i = map.pointers[o];
    for (; i + 4 <= end; i += 4) {
      a += map.values[i] * x[map.inputs[i]];
      b += map.values[i + 1] * x[map.inputs[i + 1]];
      c += map.values[i + 2] * x[map.inputs[i + 2]];
      d += map.values[i + 3] * x[map.inputs[i + 3]];
    }
    for (; i < end; i++) a += map.values[i] * x[map.inputs[i]];
    scores[o] = (a + b) + (c + d);
  }
}

}  // namespace cerf::CERF_LEVEL
