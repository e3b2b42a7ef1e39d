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
  float* next_slopes;     // (width,): of the next one
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
  m.next_slopes = m.slopes + width;
  m.gradient = m.next_slopes + width;
  return m;
}

// NumPy: out[:, :count] = X[rows].T, zeros behind. Sixteen rows at a time: whole cache lines leave.
CERF_INLINE void gather_rows(const float* X, int32_t n_columns, const int32_t* rows, int32_t count,
                             int32_t width, float* out) {
  constexpr int32_t block = 16;
  static_assert(kBatchMultiple % block == 0);
  for (int32_t s = 0; s < width; s += block) {
    const float* from[block];
    const int32_t n = count - s < block ? count - s : block;
    for (int32_t i = 0; i < n; i++) from[i] = X + int64_t(rows[s + i]) * n_columns;
    if (n == block) {
      for (int32_t d = 0; d < n_columns; d++) {
        float* to = out + int64_t(d) * width + s;
        CERF_UNROLL for (int32_t i = 0; i < block; i++)
          to[i] = from[i][d];
      }
      continue;
    }
    for (int32_t d = 0; d < n_columns; d++) {
      float* to = out + int64_t(d) * width + s;
      for (int32_t i = 0; i < block; i++) to[i] = i < n ? from[i][d] : 0.0f;
    }
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

// The same for two features that read the same inputs, which are loaded once.
CERF_INLINE void add_pair_of_products(const float* panel, int32_t width, const int32_t* inputs,
                                      const float* first, const float* second, int64_t n,
                                      float* first_out, float* second_out) {
  for (int32_t s = 0; s < width; s += kChunk) {
    Vec<float> a[4] = {}, b[4] = {};
    for (int64_t i = 0; i < n; i++) {
      const float* x = panel + int64_t(inputs[i]) * width + s;
      const Vec<float> v = broadcast<float>(first[i]), w = broadcast<float>(second[i]);
      CERF_UNROLL for (int j = 0; j < 4; j++) {
        const Vec<float> value = load<float>(x + j * kLanes<float>);
        a[j] += v * value;
        b[j] += w * value;
      }
    }
    CERF_UNROLL for (int j = 0; j < 4; j++) {
      store<float>(first_out + s + j * kLanes<float>, a[j]);
      store<float>(second_out + s + j * kLanes<float>, b[j]);
    }
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

// out[i] += panel[inputs[i]] . slopes; four inputs at a time share the loads of the slopes.
CERF_INLINE void add_dots(const float* panel, int32_t width, const int32_t* inputs, int64_t n,
                          const float* slopes, float* out) {
  constexpr int32_t step = 2 * kLanes<float>;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float* x[4];
    CERF_UNROLL for (int j = 0; j < 4; j++)
      x[j] = panel + int64_t(inputs[i + j]) * width;
    Vec<float> sum[4][2] = {};
    for (int32_t s = 0; s < width; s += step) {
      CERF_UNROLL for (int v = 0; v < 2; v++) {
        const Vec<float> g = load<float>(slopes + s + v * kLanes<float>);
        CERF_UNROLL for (int j = 0; j < 4; j++)
          sum[j][v] += g * load<float>(x[j] + s + v * kLanes<float>);
      }
    }
    CERF_UNROLL for (int j = 0; j < 4; j++)
      out[i + j] += lane_sum(sum[j][0] + sum[j][1]);
  }
  for (; i < n; i++) out[i] += dot(panel + int64_t(inputs[i]) * width, slopes, width);
}

// The same for two features that read the same inputs.
CERF_INLINE void add_pairs_of_dots(const float* panel, int32_t width, const int32_t* inputs,
                                   int64_t n, const float* first, const float* second,
                                   float* first_out, float* second_out) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float* x[4];
    CERF_UNROLL for (int j = 0; j < 4; j++)
      x[j] = panel + int64_t(inputs[i + j]) * width;
    Vec<float> a[4] = {}, b[4] = {};
    for (int32_t s = 0; s < width; s += kLanes<float>) {
      const Vec<float> g = load<float>(first + s), h = load<float>(second + s);
      CERF_UNROLL for (int j = 0; j < 4; j++) {
        const Vec<float> value = load<float>(x[j] + s);
        a[j] += g * value;
        b[j] += h * value;
      }
    }
    CERF_UNROLL for (int j = 0; j < 4; j++) {
      first_out[i + j] += lane_sum(a[j]);
      second_out[i + j] += lane_sum(b[j]);
    }
  }
  for (; i < n; i++) {
    const float* x = panel + int64_t(inputs[i]) * width;
    first_out[i] += dot(x, first, width);
    second_out[i] += dot(x, second, width);
  }
}

}  // namespace cerf::CERF_LEVEL
