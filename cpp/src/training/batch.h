// One batch of rows in memory: transposed inputs, projections, scores, and their gradients.
#pragma once

#include "cerf/training.h"
#include "kernels/vector.h"

namespace cerf::CERF_LEVEL {

constexpr int32_t kChunk = 4 * kLanes<float>;  // samples of one pass: four registers

// Sum of all lanes, by halves.
CERF_INLINE float lane_sum(Vec<float, 16> v) {
  return (v[0] + v[1]) + (v[2] + v[3]);
}
#if CERF_VECTOR_BYTES >= 32
CERF_INLINE float lane_sum(Vec<float, 32> v) {
  const Vec<float, 16>* half = reinterpret_cast<const Vec<float, 16>*>(&v);
  return lane_sum(half[0] + half[1]);
}
#endif
#if CERF_VECTOR_BYTES >= 64
CERF_INLINE float lane_sum(Vec<float, 64> v) {
  const Vec<float, 32>* half = reinterpret_cast<const Vec<float, 32>*>(&v);
  return lane_sum(half[0] + half[1]);
}
#endif

// Views into the scratch memory of one call; all rows have `width` samples.
struct BatchMemory {
  int32_t width, padded;  // samples, and scores of a sample in `by_row`
  float* inputs;          // (D, width)
  float* targets;         // (O, width)
  float* weights;         // (width,); zero for padding
  float* projections;     // (K, width), normalised
  float* scores;          // (O, width), then their gradients
  float* by_row;          // (width, padded): scores or gradients of a sample, side by side
  float* slopes;          // (width,): gradient of one projection
  float* gradient;        // (n_parameters,)
};

CERF_INLINE BatchMemory memory_of(const NetworkLayout& net, int32_t batch_size, float* scratch) {
  BatchMemory m{};
  m.width = (batch_size + kBatchMultiple - 1) / kBatchMultiple * kBatchMultiple;
  m.padded = net.padded_scores();
  const int64_t width = m.width;
  m.inputs = scratch;
  m.targets = m.inputs + net.n_features * width;
  m.weights = m.targets + net.n_scores * width;
  m.projections = m.weights + width;
  m.scores = m.projections + net.n_components * width;
  m.by_row = m.scores + net.n_scores * width;
  m.slopes = m.by_row + m.padded * width;
  m.gradient = m.slopes + width;
  return m;
}

// NumPy: inputs[:, :count] = X[rows].T, zeros behind.
CERF_INLINE void gather_rows(const float* X, int32_t n_columns, const int32_t* rows, int32_t count,
                             int32_t width, float* out) {
  for (int32_t s = 0; s < width; s++) {
    if (s >= count) {
      for (int32_t d = 0; d < n_columns; d++) out[int64_t(d) * width + s] = 0.0f;
      continue;
    }
    const float* row = X + int64_t(rows[s]) * n_columns;
    if (s + 1 < count) __builtin_prefetch(X + int64_t(rows[s + 1]) * n_columns);
    for (int32_t d = 0; d < n_columns; d++) out[int64_t(d) * width + s] = row[d];
  }
}

// out (width,) = sum over i of values[i] * rows[inputs[i]] + out
CERF_INLINE void add_products(const float* panel, int32_t width, const int32_t* inputs,
                              const float* values, int64_t n, float* out) {
  for (int32_t s = 0; s < width; s += kChunk) {
    Vec<float> sum[4];
    CERF_UNROLL for (int v = 0; v < 4; v++)
      sum[v] = load<float>(out + s + v * kLanes<float>);
    for (int64_t i = 0; i < n; i++) {
      const float* x = panel + int64_t(inputs[i]) * width + s;
      const Vec<float> b = broadcast<float>(values[i]);
      CERF_UNROLL for (int v = 0; v < 4; v++)
        sum[v] += b * load<float>(x + v * kLanes<float>);
    }
    CERF_UNROLL for (int v = 0; v < 4; v++)
      store<float>(out + s + v * kLanes<float>, sum[v]);
  }
}

CERF_INLINE float dot(const float* a, const float* b, int32_t width) {
  Vec<float> sum[4] = {};
  for (int32_t s = 0; s < width; s += kChunk) {
    CERF_UNROLL for (int v = 0; v < 4; v++)
      sum[v] += load<float>(a + s + v * kLanes<float>) * load<float>(b + s + v * kLanes<float>);
  }
  return lane_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// out[i] += panel[inputs[i]] . slopes; two inputs at a time share the loads of the slopes.
CERF_INLINE void add_dots(const float* panel, int32_t width, const int32_t* inputs, int64_t n,
                          const float* slopes, float* out) {
  constexpr int32_t step = 2 * kLanes<float>;
  int64_t i = 0;
  for (; i + 2 <= n; i += 2) {
    const float* a = panel + int64_t(inputs[i]) * width;
    const float* b = panel + int64_t(inputs[i + 1]) * width;
    Vec<float> first[2] = {}, second[2] = {};
    for (int32_t s = 0; s < width; s += step) {
      CERF_UNROLL for (int v = 0; v < 2; v++) {
        const Vec<float> g = load<float>(slopes + s + v * kLanes<float>);
        first[v] += g * load<float>(a + s + v * kLanes<float>);
        second[v] += g * load<float>(b + s + v * kLanes<float>);
      }
    }
    out[i] += lane_sum(first[0] + first[1]);
    out[i + 1] += lane_sum(second[0] + second[1]);
  }
  if (i < n) out[i] += dot(panel + int64_t(inputs[i]) * width, slopes, width);
}

}  // namespace cerf::CERF_LEVEL
