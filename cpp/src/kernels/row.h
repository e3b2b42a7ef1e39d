// One-row forms: a single sample has no panel, so lanes are projections or neighbouring inputs.
#pragma once

#include "kernels/cosine.h"
#include "kernels/relu.h"
#include "kernels/vector.h"

namespace cerf::CERF_LEVEL {

template <class T>
CERF_INLINE T dot(const T* a, const T* b, int32_t n) {
  constexpr int w = kLanes<T>;
  Vec<T> sum[2] = {};
  int32_t i = 0;
  for (; i + 2 * w <= n; i += 2 * w) {
    sum[0] += load_any<T>(a + i) * load_any<T>(b + i);
    sum[1] += load_any<T>(a + i + w) * load_any<T>(b + i + w);
  }
  T total = sum_lanes<T, kVectorBytes>(sum[0] + sum[1]);
  for (; i < n; i++) total += a[i] * b[i];
  return total;
}
template <class T>
T dot_product(const T* a, const T* b, int32_t n) {
  return dot(a, b, n);
}

// V vectors of projections that share their inputs; R rows in flight cover the latency.
template <class T, int V, int R>
CERF_INLINE void row_unit(const T* weights, int64_t width, const uint32_t* inputs, const T* x,
                          int32_t n_rows, T* phases) {
  constexpr int w = kLanes<T>;
  Vec<T> sum[R][V] = {};
  int32_t i = 0;
  for (; i + R <= n_rows; i += R) {
    CERF_UNROLL for (int r = 0; r < R; r++) {
      const Vec<T> b = broadcast<T>(x[inputs != nullptr ? inputs[i + r] : i + r]);
      CERF_UNROLL for (int v = 0; v < V; v++) {
        sum[r][v] += b * load<T>(weights + (i + r) * width + v * w);
      }
    }
  }
  for (; i < n_rows; i++) {
    const Vec<T> b = broadcast<T>(x[inputs != nullptr ? inputs[i] : i]);
    CERF_UNROLL for (int v = 0; v < V; v++)
      sum[0][v] += b * load<T>(weights + i * width + v * w);
  }
  CERF_UNROLL for (int v = 0; v < V; v++) {
    CERF_UNROLL for (int r = 1; r < R; r++)
      sum[0][v] += sum[r][v];
    store_any<T>(phases + v * w, sum[0][v]);
  }
}

// Writes whole vectors: `phases` has room for one more vector group behind the last projection, and
// units come in ascending order, so that the padding of one is overwritten by the next.
template <class T>
void shared_row(const RowSharedLayout<T>& map, const T* x, T* phases) {
  constexpr int w = kLanes<T>;
  for (int64_t u = 0; u < map.n_units; u++) {
    const RowUnit& unit = map.units[u];
    const uint32_t* inputs = map.inputs != nullptr ? map.inputs + unit.row_begin : nullptr;
    for (int32_t f = 0; f < unit.width;) {
      const T* weights = map.weights + unit.weight_begin + f;
      T* out = phases + unit.first + f;
      const int32_t left = (unit.width - f) / w;
      if (left >= 4) {
        row_unit<T, 4, 2>(weights, unit.width, inputs, x, unit.n_rows, out);
        f += 4 * w;
      } else if (left >= 2) {
        row_unit<T, 2, 4>(weights, unit.width, inputs, x, unit.n_rows, out);
        f += 2 * w;
      } else {
        row_unit<T, 1, 4>(weights, unit.width, inputs, x, unit.n_rows, out);
        f += w;
      }
    }
  }
}

// Sum over the groups of one projection of weight . input, kept as one narrow vector.
template <class T, int G>
CERF_INLINE Vec<T, kNarrowBytes> grouped_sum(const uint32_t* inputs, const T* weights, int64_t n,
                                             const T* x) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  constexpr int parts = G / w;
  Vec<T, kNarrowBytes> sum[2][parts] = {};
  int64_t g = 0;
  for (; g + 2 <= n; g += 2) {
    CERF_UNROLL for (int u = 0; u < 2; u++) {
      CERF_UNROLL for (int p = 0; p < parts; p++) {
        sum[u][p] += load_any<T, kNarrowBytes>(weights + (g + u) * G + p * w) *
                     load_any<T, kNarrowBytes>(x + inputs[g + u] + p * w);
      }
    }
  }
  if (g < n) {
    CERF_UNROLL for (int p = 0; p < parts; p++) {
      sum[0][p] += load_any<T, kNarrowBytes>(weights + g * G + p * w) *
                   load_any<T, kNarrowBytes>(x + inputs[g] + p * w);
    }
  }
  Vec<T, kNarrowBytes> total = sum[0][0] + sum[1][0];
  CERF_UNROLL for (int p = 1; p < parts; p++)
    total += sum[0][p] + sum[1][p];
  return total;
}

// A square of sums is transposed, so that one addition a lane replaces the horizontal sums.
template <class T, int G>
void grouped_row_of(const RowGroupedLayout<T>& map, const T* x, T* phases) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  for (int32_t k = 0; k < map.n_projections; k += w) {
    Vec<T, kNarrowBytes> sums[w] = {};
    const int32_t m = map.n_projections - k < w ? map.n_projections - k : w;
    for (int32_t i = 0; i < m; i++) {
      const int64_t begin = map.pointers[k + i];
      sums[i] = grouped_sum<T, G>(map.inputs + begin, map.weights + begin * G,
                                  map.pointers[k + i + 1] - begin, x);
    }
    transpose(sums);
    Vec<T, kNarrowBytes> total = sums[0];
    CERF_UNROLL for (int i = 1; i < w; i++)
      total += sums[i];
    store_any<T, kNarrowBytes>(phases + k, total);
  }
}

// Plain compressed rows: six scalar sums hide the latency of the multiply-add. Packing them into
// vectors lane by lane, as GCC would, takes more than twice as long.
template <class T>
CERF_SCALAR void gathered_row(const RowGroupedLayout<T>& map, const T* x, T* phases) {
  for (int32_t k = 0; k < map.n_projections; k++) {
    const T* weights = map.weights + map.pointers[k];
    const uint32_t* inputs = map.inputs + map.pointers[k];
    const int64_t n = map.pointers[k + 1] - map.pointers[k];
    T a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
    int64_t i = 0;
    for (; i + 6 <= n; i += 6) {
      a += weights[i] * x[inputs[i]];
      b += weights[i + 1] * x[inputs[i + 1]];
      c += weights[i + 2] * x[inputs[i + 2]];
      d += weights[i + 3] * x[inputs[i + 3]];
      e += weights[i + 4] * x[inputs[i + 4]];
      f += weights[i + 5] * x[inputs[i + 5]];
    }
    for (; i < n; i++) a += weights[i] * x[inputs[i]];
    phases[k] = ((a + b) + (c + d)) + (e + f);
  }
}

template <class T>
void grouped_row(const RowGroupedLayout<T>& map, const T* x, T* phases) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  switch (map.group) {
    case 1: gathered_row(map, x, phases); break;
    case w: grouped_row_of<T, w>(map, x, phases); break;
    case 2 * w: grouped_row_of<T, 2 * w>(map, x, phases); break;
    default: grouped_row_of<T, 4 * w>(map, x, phases); break;
  }
}

template <class T>
void finish_row(const T* phases, const T* offsets, const T* amplitudes, int32_t n_projections,
                int32_t n_outputs, bool paired, bool relu, T* out) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  using V = Vec<T, kNarrowBytes>;
  int32_t k = 0;
  const int32_t whole = paired ? n_outputs / 2 : n_outputs;
  for (; k + w <= whole; k += w) {
    const V t = load_any<T, kNarrowBytes>(phases + k) + load_any<T, kNarrowBytes>(offsets + k);
    const V a = load_any<T, kNarrowBytes>(amplitudes + k);
    if (paired) {
      V cosine, sine;
      cosine_and_sine<T, kNarrowBytes>(t, cosine, sine);
      cosine *= a;
      sine *= a;
      interleave(cosine, sine);
      store_any<T, kNarrowBytes>(out + 2 * k, cosine);
      store_any<T, kNarrowBytes>(out + 2 * k + w, sine);
    } else if (relu) {
      store_any<T, kNarrowBytes>(out + k, positive_part<T, kNarrowBytes>(t) * a);
    } else {
      store_any<T, kNarrowBytes>(out + k, cosine_of_turns<T, kNarrowBytes>(t) * a);
    }
  }
  if (k == n_projections) return;
  // The rest of the row, through padded copies.
  T t[w] = {}, a[w] = {}, c[w], s[w];
  const int32_t m = n_projections - k;
  for (int32_t i = 0; i < m; i++) {
    t[i] = phases[k + i] + offsets[k + i];
    a[i] = amplitudes[k + i];
  }
  const V padded = load_any<T, kNarrowBytes>(t);
  V first, sine{};
  if (relu) {
    first = positive_part<T, kNarrowBytes>(padded);
  } else {
    cosine_and_sine<T, kNarrowBytes>(padded, first, sine);
  }
  store_any<T, kNarrowBytes>(c, first * load_any<T, kNarrowBytes>(a));
  store_any<T, kNarrowBytes>(s, sine * load_any<T, kNarrowBytes>(a));
  for (int32_t i = 0; i < m; i++) {
    if (!paired) {
      out[k + i] = c[i];
      continue;
    }
    out[2 * (k + i)] = c[i];
    if (2 * (k + i) + 1 < n_outputs) out[2 * (k + i) + 1] = s[i];
  }
}

}  // namespace cerf::CERF_LEVEL
