// Networks while they are trained, in plain arrays: scores and loss in long double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "cerf/training.h"
#include "reference.h"

namespace reference {

using cerf::FeatureKind;
using cerf::LossKind;

constexpr const char* kKindNames[] = {"cosine", "relu", "table"};
constexpr const char* kLossNames[] = {"squared", "logistic", "softmax"};

struct TrainingCase {
  FeatureKind kind;
  int32_t n_features, n_components, n_scores, n_knots;
  std::vector<int64_t> pointers, linear_pointers;
  std::vector<int32_t> inputs, linear_inputs;
  std::vector<float> parameters, first, second, means, variances;
  // Rows of a batch.
  LossKind loss;
  std::vector<float> X, targets, weights;
  std::vector<int32_t> order;

  cerf::NetworkLayout layout() const {
    return {.kind = kind,
            .n_features = n_features,
            .n_components = n_components,
            .n_scores = n_scores,
            .n_knots = n_knots,
            .pointers = pointers.data(),
            .inputs = inputs.data(),
            .linear_pointers = linear_pointers.data(),
            .linear_inputs = linear_inputs.data()};
  }
  cerf::TrainingRows rows() const {
    return {.X = X.data(),
            .targets = targets.data(),
            .weights = weights.data(),
            .n_rows = n_rows(),
            .loss = loss};
  }
  cerf::TrainingState state() {
    return {.parameters = parameters.data(),
            .first = first.data(),
            .second = second.data(),
            .means = means.data(),
            .variances = variances.data(),
            .n_steps = 0};
  }
  void check() const { cerf::check(layout(), pointers, inputs, linear_pointers, linear_inputs); }
  int64_t n_rows() const { return static_cast<int64_t>(weights.size()); }
  std::string name() const {
    return std::string(kKindNames[int(kind)]) + " " + kLossNames[int(loss)] + " " +
           std::to_string(n_scores) + " scores, " + std::to_string(n_rows()) + " rows, " +
           std::to_string(n_knots) + " knots";
  }
};

// Masks of about half of the inputs, the first one in all.
inline TrainingCase training_case(FeatureKind kind, LossKind loss, int32_t n_scores, int64_t n_rows,
                                  int32_t n_knots = 5) {
  TrainingCase net{};
  net.kind = kind, net.loss = loss, net.n_scores = n_scores;
  net.n_features = 6, net.n_components = 3, net.n_knots = n_knots;
  Random random(static_cast<uint64_t>(n_scores * 1000 + n_rows));
  const auto draw = [&](int32_t n, int32_t first, std::vector<int64_t>& pointers,
                        std::vector<int32_t>& inputs) {
    pointers.push_back(0);
    for (int32_t k = 0; k < n; k++) {
      for (int32_t d = 0; d < net.n_features; d++) {
        if (d < first || random.below(2) == 0) inputs.push_back(d);
      }
      pointers.push_back(static_cast<int64_t>(inputs.size()));
    }
  };
  draw(net.n_components, 1, net.pointers, net.inputs);
  draw(n_scores, 0, net.linear_pointers, net.linear_inputs);
  const cerf::NetworkLayout layout = net.layout();
  const size_t n = size_t(layout.n_parameters()), K = size_t(net.n_components);
  for (size_t i = 0; i < n; i++) {
    net.parameters.push_back(static_cast<float>(0.7 * random.symmetric()));
  }
  if (kind == FeatureKind::table) {  // padding is zero
    const int64_t padded = layout.padded_scores();
    for (int64_t i = layout.heads_at(); i < layout.linear_at(); i++) {
      if ((i - layout.heads_at()) % padded >= n_scores) net.parameters[size_t(i)] = 0;
    }
  }
  net.first.assign(n, 0), net.second.assign(n, 0);
  net.means.assign(K, 0), net.variances.assign(K, 1);
  for (int64_t i = 0; i < n_rows; i++) {
    net.order.push_back(static_cast<int32_t>(i));
    net.weights.push_back(static_cast<float>(1 + 0.5 * random.symmetric()));
    for (int32_t d = 0; d < net.n_features; d++) {
      net.X.push_back(static_cast<float>(random.symmetric()));
    }
    for (int32_t o = 0; o < n_scores; o++) {
      net.targets.push_back(loss == LossKind::softmax ? static_cast<float>(o == i % n_scores)
                                                      : static_cast<float>(random.below(2)));
    }
  }
  return net;
}

// Parameters in long double, to change one at a time.
using Parameters = std::vector<Real>;

inline Real projection(const TrainingCase& net, const Parameters& p, int32_t k, int64_t row) {
  Real z = 0;
  for (int64_t e = net.pointers[size_t(k)]; e < net.pointers[size_t(k) + 1]; e++) {
    z += p[size_t(e)] * net.X[size_t(row * net.n_features + net.inputs[size_t(e)])];
  }
  return z;
}

struct Moments {
  Real mean, variance;
};

// Of a projection over the weighted rows.
inline Moments batch_moments(const TrainingCase& net, const Parameters& p, int32_t k) {
  Real total = 0, sum = 0, squares = 0;
  for (int64_t i = 0; i < net.n_rows(); i++) {
    total += net.weights[size_t(i)];
    sum += net.weights[size_t(i)] * projection(net, p, k, i);
  }
  const Real mean = sum / total;
  for (int64_t i = 0; i < net.n_rows(); i++) {
    const Real apart = projection(net, p, k, i) - mean;
    squares += net.weights[size_t(i)] * apart * apart;
  }
  return {mean, squares / total};
}

// Value for score o of a feature with normalised projection y.
inline Real feature_value(const TrainingCase& net, const Parameters& p, int32_t k, int32_t o,
                          Real y) {
  const cerf::NetworkLayout at = net.layout();
  const size_t head = size_t(at.heads_at() + k * at.head_size());
  const Real offset = p[size_t(at.offsets_at() + k)];
  if (net.kind == FeatureKind::cosine) {
    return p[head + size_t(o)] * std::cos(p[size_t(at.scales_at() + k)] * y + offset);
  }
  if (net.kind == FeatureKind::relu) return p[head + size_t(o)] * std::max<Real>(y + offset, 0);
  const Real end = cerf::kTableEnd;
  const Real u = (std::clamp(y, -end, end) + end) * Real(net.n_knots - 1) / (2 * end);
  const int64_t knot = std::min<int64_t>(int64_t(u), net.n_knots - 2);
  const size_t low = head + size_t(knot * at.padded_scores() + o);
  const Real share = u - Real(knot);
  return (1 - share) * p[low] + share * p[low + size_t(at.padded_scores())];
}

// Scores (n_rows, O) with given moments.
inline std::vector<Real> scores_of(const TrainingCase& net, const Parameters& p,
                                   const std::vector<Moments>& moments) {
  const cerf::NetworkLayout at = net.layout();
  std::vector<Real> found;
  for (int64_t i = 0; i < net.n_rows(); i++) {
    for (int32_t o = 0; o < net.n_scores; o++) {
      Real score = p[size_t(at.bias_at() + o)];
      for (int64_t e = net.linear_pointers[size_t(o)]; e < net.linear_pointers[size_t(o) + 1];
           e++) {
        const size_t input = size_t(i * net.n_features + net.linear_inputs[size_t(e)]);
        score += p[size_t(at.linear_at() + e)] * net.X[input];
      }
      found.push_back(score);
    }
    for (int32_t k = 0; k < net.n_components; k++) {
      const Moments& m = moments[size_t(k)];
      const Real y =
          (projection(net, p, k, i) - m.mean) / std::sqrt(m.variance + Real(cerf::kLeastVariance));
      for (int32_t o = 0; o < net.n_scores; o++) {
        found[size_t(i * net.n_scores + o)] += feature_value(net, p, k, o, y);
      }
    }
  }
  return found;
}

inline std::vector<Moments> all_batch_moments(const TrainingCase& net, const Parameters& p) {
  std::vector<Moments> found;
  for (int32_t k = 0; k < net.n_components; k++) found.push_back(batch_moments(net, p, k));
  return found;
}

// Mean over rows of the weighted loss; slopes (n_rows, O), its gradient in the scores, if asked.
inline Real loss_of(const TrainingCase& net, const std::vector<Real>& scores,
                    std::vector<Real>* slopes = nullptr) {
  const size_t O = size_t(net.n_scores);
  Real total = 0;
  for (size_t i = 0; i < size_t(net.n_rows()); i++) {
    const Real* s = scores.data() + i * O;
    const float* t = net.targets.data() + i * O;
    const Real weight = Real(net.weights[i]) / Real(net.n_rows());
    const Real most = *std::max_element(s, s + O);
    Real sum = 0;
    for (size_t o = 0; o < O; o++) sum += std::exp(s[o] - most);
    for (size_t o = 0; o < O; o++) {
      Real slope = s[o] - t[o], loss = slope * slope / 2;
      if (net.loss == LossKind::logistic) {
        loss = std::max<Real>(s[o], 0) + std::log1p(std::exp(-std::fabs(s[o]))) - t[o] * s[o];
        slope = 1 / (1 + std::exp(-s[o])) - t[o];
      } else if (net.loss == LossKind::softmax) {
        loss = t[o] * (most + std::log(sum) - s[o]);
        slope = std::exp(s[o] - most) / sum - t[o];
      }
      total += weight * loss;
      if (slopes != nullptr) slopes->push_back(weight * slope);
    }
  }
  return total;
}

// Half the sums of squares, times their penalties.
inline Real penalty_of(const TrainingCase& net, const Parameters& p,
                       const cerf::Penalties& penalties) {
  const cerf::NetworkLayout at = net.layout();
  const auto squares = [&](int64_t begin, int64_t end) {
    Real sum = 0;
    for (int64_t i = begin; i < end; i++) sum += p[size_t(i)] * p[size_t(i)];
    return sum;
  };
  const bool table = net.kind == FeatureKind::table;
  Real total =
      penalties.weights * squares(0, at.scales_at()) +
      penalties.scales * squares(at.scales_at(), at.offsets_at()) +
      penalties.heads / Real(table ? net.n_knots : 1) * squares(at.heads_at(), at.linear_at()) +
      penalties.linear * squares(at.linear_at(), at.bias_at());
  const size_t P = size_t(at.padded_scores());
  for (int32_t k = 0; table && k < net.n_components; k++) {
    for (int32_t m = 1; m + 1 < net.n_knots; m++) {
      for (size_t o = 0; o < size_t(net.n_scores); o++) {
        const size_t i = size_t(at.heads_at() + k * at.head_size()) + size_t(m) * P + o;
        const Real second = p[i - P] - 2 * p[i] + p[i + P];
        total += penalties.curvature * second * second;
      }
    }
  }
  return total / 2;
}

}  // namespace reference
