// Forward and backward pass of the features and the linear part over one batch.
#pragma once

#include "kernels/cosine.h"
#include "training/batch.h"
#include "training/tables.h"

namespace cerf::CERF_LEVEL {

constexpr float kTurnsPerRadian = 0.15915494309189535f;

CERF_INLINE Vec<float> clamp(Vec<float> x, Vec<float> bound) {
  x = x < bound ? x : bound;
  return x > -bound ? x : -bound;
}

// Running moments of a projection follow those of the batch, of values clamped to the span of a
// table: few outliers must not squeeze all other rows into few bins.
CERF_INLINE void update_moments(const float* z, const BatchMemory& m, float rate, float& mean,
                                float& variance) {
  Vec<float> total{}, sum{}, squares{};
  const Vec<float> centre = broadcast<float>(mean);  // near the mean: no cancellation
  const Vec<float> bound = broadcast<float>(kTableEnd * __builtin_sqrtf(variance + kLeastVariance));
  for (int32_t s = 0; s < m.width; s += kLanes<float>) {
    const Vec<float> weight = load<float>(m.weights + s);
    const Vec<float> apart = clamp(load<float>(z + s) - centre, bound);
    total += weight;
    sum += weight * apart;
    squares += weight * apart * apart;
  }
  const float weight = lane_sum(total);
  if (!(weight > 0.0f)) return;
  const float shift = lane_sum(sum) / weight;
  const float spread = lane_sum(squares) / weight - shift * shift;
  mean += rate * shift;
  variance += rate * ((spread > 0.0f ? spread : 0.0f) - variance);
}

CERF_INLINE void normalise(float* z, int32_t width, float mean, float variance) {
  const Vec<float> centre = broadcast<float>(mean);
  const Vec<float> factor = broadcast<float>(1.0f / __builtin_sqrtf(variance + kLeastVariance));
  for (int32_t s = 0; s < width; s += kLanes<float>) {
    store<float>(z + s, (load<float>(z + s) - centre) * factor);
  }
}

// Feature k of the batch, and its derivative with respect to the phase where asked.
template <bool kSlope>
CERF_INLINE void activate(FeatureKind kind, float scale, float offset, Vec<float> y,
                          Vec<float>& feature, Vec<float>& slope) {
  if (kind == FeatureKind::cosine) {
    const Vec<float> t = (y * broadcast<float>(scale) + broadcast<float>(offset)) *
                         broadcast<float>(kTurnsPerRadian);
    if (kSlope) {
      Vec<float> sine;
      cosine_and_sine<float, kVectorBytes>(t, feature, sine);
      slope = -sine;
    } else {
      feature = cosine_of_turns<float, kVectorBytes>(t);
    }
    return;
  }
  const Vec<float> t = y + broadcast<float>(offset), zero{};
  feature = t > zero ? t : zero;
  if (kSlope) slope = t > zero ? broadcast<float>(1.0f) : zero;
}

// scores += head_k * feature_k
CERF_INLINE void add_feature(const NetworkLayout& net, const float* parameters, int32_t k,
                             const BatchMemory& m) {
  const float* y = m.projections + int64_t(k) * m.width;
  const float* head = parameters + net.heads_at() + k * net.head_size();
  if (net.kind == FeatureKind::table) {
    switch (m.padded) {
      case 1: add_single_table(head, net.n_knots, y, m.width, m.scores); break;
      case 4: add_table<4>(head, net.n_knots, 4, y, m.width, m.by_row); break;
      case 8: add_table<8>(head, net.n_knots, 8, y, m.width, m.by_row); break;
      case 16: add_table<16>(head, net.n_knots, 16, y, m.width, m.by_row); break;
      default: add_table<0>(head, net.n_knots, m.padded, y, m.width, m.by_row); break;
    }
    return;
  }
  const float scale = parameters[net.scales_at() + k], offset = parameters[net.offsets_at() + k];
  for (int32_t s = 0; s < m.width; s += kLanes<float>) {
    Vec<float> feature, unused;
    activate<false>(net.kind, scale, offset, load<float>(y + s), feature, unused);
    for (int32_t o = 0; o < net.n_scores; o++) {
      float* at = m.scores + int64_t(o) * m.width + s;
      store<float>(at, load<float>(at) + feature * broadcast<float>(head[o]));
    }
  }
}

// Gradients of head, scale and offset; slopes = derivative with respect to the projection.
CERF_INLINE void feature_slopes(const NetworkLayout& net, const float* parameters, int32_t k,
                                const BatchMemory& m) {
  const float* y = m.projections + int64_t(k) * m.width;
  const float* head = parameters + net.heads_at() + k * net.head_size();
  float* gradient = m.gradient + net.heads_at() + k * net.head_size();
  if (net.kind == FeatureKind::table) {
    const int32_t n = net.n_knots;
    switch (m.padded) {
      case 1: single_table_slopes(head, n, y, m.width, m.scores, m.slopes, gradient); break;
      case 4: table_slopes<4>(head, n, 4, y, m.width, m.by_row, m.slopes, gradient); break;
      case 8: table_slopes<8>(head, n, 8, y, m.width, m.by_row, m.slopes, gradient); break;
      case 16: table_slopes<16>(head, n, 16, y, m.width, m.by_row, m.slopes, gradient); break;
      default: table_slopes<0>(head, n, m.padded, y, m.width, m.by_row, m.slopes, gradient); break;
    }
    return;
  }
  const float scale = parameters[net.scales_at() + k], offset = parameters[net.offsets_at() + k];
  const float inner = net.kind == FeatureKind::cosine ? scale : 1.0f;
  Vec<float> by_scale{}, by_offset{};
  for (int32_t s = 0; s < m.width; s += kLanes<float>) {
    const Vec<float> at = load<float>(y + s);
    Vec<float> feature, slope, pull{};
    activate<true>(net.kind, scale, offset, at, feature, slope);
    for (int32_t o = 0; o < net.n_scores; o++) {
      const Vec<float> by_score = load<float>(m.scores + int64_t(o) * m.width + s);
      pull += by_score * broadcast<float>(head[o]);
      gradient[o] += lane_sum(by_score * feature);
    }
    pull *= slope;
    by_scale += pull * at;
    by_offset += pull;
    store<float>(m.slopes + s, pull * broadcast<float>(inner));
  }
  if (net.kind == FeatureKind::cosine) m.gradient[net.scales_at() + k] += lane_sum(by_scale);
  m.gradient[net.offsets_at() + k] += lane_sum(by_offset);
}

// Derivative with respect to the raw projection: that of y = (z - mean) / deviation, in which mean
// and deviation depend on all rows of the batch.
CERF_INLINE void through_normalisation(const float* y, const BatchMemory& m, float variance) {
  Vec<float> total{}, sum{}, along{};
  for (int32_t s = 0; s < m.width; s += kLanes<float>) {
    const Vec<float> g = load<float>(m.slopes + s);
    total += load<float>(m.weights + s);
    sum += g;
    along += g * load<float>(y + s);
  }
  const float weight = lane_sum(total);
  const float share = weight > 0.0f ? 1.0f / weight : 0.0f;
  const Vec<float> mean = broadcast<float>(lane_sum(sum) * share);
  const Vec<float> slope = broadcast<float>(lane_sum(along) * share);
  const Vec<float> factor = broadcast<float>(1.0f / __builtin_sqrtf(variance + kLeastVariance));
  for (int32_t s = 0; s < m.width; s += kLanes<float>) {
    const Vec<float> moved = load<float>(m.weights + s) * (mean + load<float>(y + s) * slope);
    store<float>(m.slopes + s, (load<float>(m.slopes + s) - moved) * factor);
  }
}

// by_row = rows of the transposed (O, width) array, zeros for padding; and the way back.
CERF_INLINE void to_rows(const BatchMemory& m, int32_t n_scores) {
  for (int32_t s = 0; s < m.width; s++) {
    float* row = m.by_row + int64_t(s) * m.padded;
    for (int32_t o = 0; o < n_scores; o++) row[o] = m.scores[int64_t(o) * m.width + s];
    for (int32_t o = n_scores; o < m.padded; o++) row[o] = 0.0f;
  }
}
CERF_INLINE void from_rows(const BatchMemory& m, int32_t n_scores) {
  for (int32_t s = 0; s < m.width; s++) {
    const float* row = m.by_row + int64_t(s) * m.padded;
    for (int32_t o = 0; o < n_scores; o++) m.scores[int64_t(o) * m.width + s] = row[o];
  }
}

// Scores of the batch; with a rate above 0 the running moments are updated first.
CERF_INLINE void forward(const NetworkLayout& net, const BatchMemory& m, const float* parameters,
                         float* means, float* variances, float moment_rate) {
  const float* linear = parameters + net.linear_at();
  for (int32_t o = 0; o < net.n_scores; o++) {
    float* scores = m.scores + int64_t(o) * m.width;
    const float bias = parameters[net.bias_at() + o];
    for (int32_t s = 0; s < m.width; s++) scores[s] = bias;
    const int64_t begin = net.linear_pointers[o];
    add_products(m.inputs, m.width, net.linear_inputs + begin, linear + begin,
                 net.linear_pointers[o + 1] - begin, scores);
  }
  const bool rows = net.kind == FeatureKind::table && m.padded > 1;
  if (rows) to_rows(m, net.n_scores);
  for (int32_t k = 0; k < net.n_components; k++) {
    float* z = m.projections + int64_t(k) * m.width;
    for (int32_t s = 0; s < m.width; s++) z[s] = 0.0f;
    const int64_t begin = net.pointers[k];
    add_products(m.inputs, m.width, net.inputs + begin, parameters + begin,
                 net.pointers[k + 1] - begin, z);
    if (moment_rate > 0.0f) update_moments(z, m, moment_rate, means[k], variances[k]);
    normalise(z, m.width, means[k], variances[k]);
    add_feature(net, parameters, k, m);
  }
  if (rows) from_rows(m, net.n_scores);
}

// Adds the gradient of everything but the penalties; m.scores holds that of the scores.
CERF_INLINE void backward(const NetworkLayout& net, const BatchMemory& m, const float* parameters,
                          const float* variances) {
  if (net.kind == FeatureKind::table && m.padded > 1) to_rows(m, net.n_scores);
  for (int32_t o = 0; o < net.n_scores; o++) {
    const float* slopes = m.scores + int64_t(o) * m.width;
    Vec<float> sum{};
    for (int32_t s = 0; s < m.width; s += kLanes<float>) sum += load<float>(slopes + s);
    m.gradient[net.bias_at() + o] += lane_sum(sum);
    const int64_t begin = net.linear_pointers[o];
    add_dots(m.inputs, m.width, net.linear_inputs + begin, net.linear_pointers[o + 1] - begin,
             slopes, m.gradient + net.linear_at() + begin);
  }
  for (int32_t k = 0; k < net.n_components; k++) {
    feature_slopes(net, parameters, k, m);
    through_normalisation(m.projections + int64_t(k) * m.width, m, variances[k]);
    const int64_t begin = net.pointers[k];
    add_dots(m.inputs, m.width, net.inputs + begin, net.pointers[k + 1] - begin, m.slopes,
             m.gradient + begin);
  }
}

}  // namespace cerf::CERF_LEVEL
