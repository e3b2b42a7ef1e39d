// Losses of a batch: the value, and scores replaced by its gradient.
#pragma once

#include "training/batch.h"

namespace cerf::CERF_LEVEL {

// exp(x) for x <= 0; relative error below 3e-7, zero below -87.
CERF_INLINE Vec<float> exp_of_negative(Vec<float> x) {
  typedef VectorOf<int32_t, kVectorBytes>::aligned Int;
  const Vec<float> least = broadcast<float>(-87.0f);
  x = x > least ? x : least;
  const Vec<float> magic = broadcast<float>(12582912.0f);  // 1.5 * 2^23: rounds to an integer
  const Vec<float> shifted = x * broadcast<float>(1.44269504f) + magic;
  const Vec<float> n = shifted - magic;
  const Vec<float> r =
      (x - n * broadcast<float>(0.693145752f)) - n * broadcast<float>(1.42860677e-6f);
  Vec<float> p = broadcast<float>(1.0f / 720);
  p = p * r + broadcast<float>(1.0f / 120);
  p = p * r + broadcast<float>(1.0f / 24);
  p = p * r + broadcast<float>(1.0f / 6);
  p = p * r + broadcast<float>(0.5f);
  p = p * r + broadcast<float>(1.0f);
  p = p * r + broadcast<float>(1.0f);
  const Int exponent = (reinterpret_cast<Int>(shifted) + 127) << 23;
  return p * reinterpret_cast<Vec<float>>(exponent);
}

// (s - t)^2 / 2 a score
CERF_INLINE double squared_loss(const BatchMemory& m, int32_t n_scores, float share) {
  Vec<float> total{};
  for (int32_t o = 0; o < n_scores; o++) {
    for (int32_t s = 0; s < m.width; s += kLanes<float>) {
      const int64_t at = int64_t(o) * m.width + s;
      const Vec<float> error = load<float>(m.scores + at) - load<float>(m.targets + at);
      const Vec<float> slope = error * load<float>(m.weights + s) * broadcast<float>(share);
      total += broadcast<float>(0.5f) * error * slope;
      store<float>(m.scores + at, slope);
    }
  }
  return lane_sum(total);
}

// ln(1 + e^s) - t s a score; targets are probabilities
CERF_INLINE double logistic_loss(const BatchMemory& m, int32_t n_scores, float share) {
  double total = 0.0;
  const Vec<float> one = broadcast<float>(1.0f), zero{};
  for (int32_t o = 0; o < n_scores; o++) {
    for (int32_t s = 0; s < m.width; s += kLanes<float>) {
      const int64_t at = int64_t(o) * m.width + s;
      const Vec<float> score = load<float>(m.scores + at), target = load<float>(m.targets + at);
      const Vec<float> weight = load<float>(m.weights + s) * broadcast<float>(share);
      const Vec<float> size = score > zero ? score : -score;
      const Vec<float> e = exp_of_negative(-size);
      const Vec<float> upper = one / (one + e);
      const Vec<float> proba = score > zero ? upper : one - upper;
      const Vec<float> linear = (score > zero ? score : zero) - target * score;
      store<float>(m.scores + at, (proba - target) * weight);
      for (int i = 0; i < kLanes<float>; i++) {
        total += double(weight[i]) * (double(linear[i]) + __builtin_log1p(double(e[i])));
      }
    }
  }
  return total;
}

// ln sum e^s - t . s; targets are probabilities that sum to one
CERF_INLINE double softmax_loss(const BatchMemory& m, int32_t n_scores, float share) {
  double total = 0.0;
  for (int32_t s = 0; s < m.width; s += kLanes<float>) {
    Vec<float> most = load<float>(m.scores + s);
    for (int32_t o = 1; o < n_scores; o++) {
      const Vec<float> score = load<float>(m.scores + int64_t(o) * m.width + s);
      most = score > most ? score : most;
    }
    Vec<float> sum{}, aimed{};
    for (int32_t o = 0; o < n_scores; o++) {
      const int64_t at = int64_t(o) * m.width + s;
      const Vec<float> below = load<float>(m.scores + at) - most;
      aimed += load<float>(m.targets + at) * below;
      const Vec<float> e = exp_of_negative(below);
      sum += e;
      store<float>(m.scores + at, e);
    }
    const Vec<float> weight = load<float>(m.weights + s) * broadcast<float>(share);
    const Vec<float> inverse = broadcast<float>(1.0f) / sum;
    for (int32_t o = 0; o < n_scores; o++) {
      const int64_t at = int64_t(o) * m.width + s;
      const Vec<float> proba = load<float>(m.scores + at) * inverse;
      store<float>(m.scores + at, (proba - load<float>(m.targets + at)) * weight);
    }
    for (int i = 0; i < kLanes<float>; i++) {
      total += double(weight[i]) * (__builtin_log(double(sum[i])) - double(aimed[i]));
    }
  }
  return total;
}

// Each row counts with its weight times `share`.
CERF_INLINE double loss_and_slopes(LossKind loss, const BatchMemory& m, int32_t n_scores,
                                   float share) {
  switch (loss) {
    case LossKind::squared: return squared_loss(m, n_scores, share);
    case LossKind::logistic: return logistic_loss(m, n_scores, share);
    default: return softmax_loss(m, n_scores, share);
  }
}

}  // namespace cerf::CERF_LEVEL
