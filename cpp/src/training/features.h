// Forward and backward pass of the features and the linear part over one batch.
#pragma once

#include <cstring>

#include "kernels/cosine.h"
#include "training/batch.h"
#include "training/tables.h"

namespace cerf::CERF_LEVEL {

constexpr float kFarFloor = 1e30f;
constexpr float kTurnsPerRadian = 0.15915494309189535f;

CERF_INLINE Vec<float> clamp(Vec<float> x, Vec<float> bound) {
  x = x < bound ? x : bound;
  return x > -bound ? x : -bound;
}

CERF_INLINE float total_weight(const BatchMemory& m) {
  Vec<float> total{};
  for (int32_t s = 0; s < m.width; s += kLanes<float>) total += load<float>(m.weights + s);
  return lane_sum(total);
}

// Running moments of a projection follow those of the batch, of values clamped to the span of a
// table: few outliers must not squeeze all other rows into few bins. Where nearly all rows are
// equal the clamped variance would vanish, and a relu feature of the others explode: there it is a
// share of that of all values.
CERF_INLINE void update_moments(const float* z, const BatchMemory& m, float total, float rate,
                                float least, float& mean, float& variance) {
  Vec<float> sum{}, squares{}, whole{}, all{};
  const Vec<float> centre = broadcast<float>(mean);  // near the mean: no cancellation
  const Vec<float> bound = broadcast<float>(kTableEnd * __builtin_sqrtf(variance + kLeastVariance));
  for (int32_t s = 0; s < m.width; s += kLanes<float>) {
    const Vec<float> weight = load<float>(m.weights + s);
    const Vec<float> distance = load<float>(z + s) - centre;
    const Vec<float> apart = clamp(distance, bound);
    sum += weight * apart;
    squares += weight * apart * apart;
    whole += weight * distance;
    all += weight * distance * distance;
  }
  if (!(total > 0.0f)) return;
  const float shift = lane_sum(sum) / total;
  const float spread = lane_sum(squares) / total - shift * shift;
  const float middle = lane_sum(whole) / total;
  const float floor = least * (lane_sum(all) / total - middle * middle);
  mean += rate * shift;
  const bool equal = floor > spread && floor < kFarFloor;  // not infinite: projections may be huge
  const float target = equal ? floor : spread > 0.0f ? spread : 0.0f;
  variance += rate * (target - variance);
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
  float* features = m.by_row;  // free where features are no tables
  Vec<float> by_scale{}, by_offset{};
  for (int32_t s = 0; s < m.width; s += kLanes<float>) {
    const Vec<float> at = load<float>(y + s);
    Vec<float> feature, slope, pull{};
    activate<true>(net.kind, scale, offset, at, feature, slope);
    store<float>(features + s, feature);
    for (int32_t o = 0; o < net.n_scores; o++)
      pull += load<float>(m.scores + int64_t(o) * m.width + s) * broadcast<float>(head[o]);
    pull *= slope;
    by_scale += pull * at;
    by_offset += pull;
    store<float>(m.slopes + s, pull * broadcast<float>(inner));
  }
  for (int32_t o = 0; o < net.n_scores; o++)
    gradient[o] += dot(m.scores + int64_t(o) * m.width, features, m.width);
  if (net.kind == FeatureKind::cosine) m.gradient[net.scales_at() + k] += lane_sum(by_scale);
  m.gradient[net.offsets_at() + k] += lane_sum(by_offset);
}

// Derivative with respect to the raw projection: that of y = (z - mean) / deviation, in which mean
// and deviation depend on all rows of the batch.
CERF_INLINE void through_normalisation(const float* y, const BatchMemory& m, float total,
                                       float variance) {
  Vec<float> sum{}, along{};
  for (int32_t s = 0; s < m.width; s += kLanes<float>) {
    const Vec<float> g = load<float>(m.slopes + s);
    sum += g;
    along += g * load<float>(y + s);
  }
  const float share = total > 0.0f ? 1.0f / total : 0.0f;
  const Vec<float> mean = broadcast<float>(lane_sum(sum) * share);
  const Vec<float> slope = broadcast<float>(lane_sum(along) * share);
  const Vec<float> factor = broadcast<float>(1.0f / __builtin_sqrtf(variance + kLeastVariance));
  for (int32_t s = 0; s < m.width; s += kLanes<float>) {
    const Vec<float> moved = load<float>(m.weights + s) * (mean + load<float>(y + s) * slope);
    store<float>(m.slopes + s, (load<float>(m.slopes + s) - moved) * factor);
  }
}

// slopes = derivative with respect to raw projection k; adds gradients of head, scale and offset.
CERF_INLINE void projection_slopes(const NetworkLayout& net, const float* parameters,
                                   const float* variances, float total, int32_t k,
                                   const BatchMemory& m) {
  feature_slopes(net, parameters, k, m);
  through_normalisation(m.projections + int64_t(k) * m.width, m, total, variances[k]);
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

// Whether a feature reads the same inputs as the one before: true of all before pruning, where
// inputs are few.
CERF_INLINE bool reads_the_same(const NetworkLayout& net, int32_t k) {
  const int64_t begin = net.pointers[k], n = net.pointers[k + 1] - begin;
  const int64_t before = net.pointers[k - 1];
  return begin - before == n && std::memcmp(net.inputs + begin, net.inputs + before,
                                            static_cast<size_t>(n) * sizeof(int32_t)) == 0;
}

// Raw projections of all features.
CERF_INLINE void project(const NetworkLayout& net, const BatchMemory& m, const float* parameters) {
  for (int32_t k = 0; k < net.n_components; k++) {
    float* z = m.projections + int64_t(k) * m.width;
    const int64_t begin = net.pointers[k], n = net.pointers[k + 1] - begin;
    if (k + 1 < net.n_components && reads_the_same(net, k + 1)) {
      add_pair_of_products(m.inputs, m.width, net.inputs + begin, parameters + begin,
                           parameters + begin + n, n, z, z + m.width);
      k++;
      continue;
    }
    for (int32_t s = 0; s < m.width; s++) z[s] = 0.0f;
    add_products(m.inputs, m.width, net.inputs + begin, parameters + begin, n, z);
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
  project(net, m, parameters);
  const float total = moment_rate > 0.0f ? total_weight(m) : 0.0f;
  const float least = net.kind == FeatureKind::relu ? kLeastClamped : 0.0f;
  for (int32_t k = 0; k < net.n_components; k++) {
    float* z = m.projections + int64_t(k) * m.width;
    if (moment_rate > 0.0f) {
      update_moments(z, m, total, moment_rate, least, means[k], variances[k]);
    }
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
  const float total = total_weight(m);
  BatchMemory next = m;
  next.slopes = m.next_slopes;
  for (int32_t k = 0; k < net.n_components; k++) {
    const int64_t begin = net.pointers[k], n = net.pointers[k + 1] - begin;
    float* gradient = m.gradient + begin;
    projection_slopes(net, parameters, variances, total, k, m);
    if (k + 1 < net.n_components && reads_the_same(net, k + 1)) {
      projection_slopes(net, parameters, variances, total, ++k, next);
      add_pairs_of_dots(m.inputs, m.width, net.inputs + begin, n, m.slopes, next.slopes, gradient,
                        gradient + n);
      continue;
    }
    add_dots(m.inputs, m.width, net.inputs + begin, n, m.slopes, gradient);
  }
}

}  // namespace cerf::CERF_LEVEL
