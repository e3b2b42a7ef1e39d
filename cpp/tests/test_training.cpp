// Training: gradients against differences of the loss in long double, steps, scores, refusals.
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "cerf/buffer.h"
#include "cerf/features.h"
#include "checks.h"
#include "reference_training.h"
#include "tests.h"

namespace {

using namespace checks;
using cerf::TrainingTable;

constexpr FeatureKind kKinds[] = {FeatureKind::cosine, FeatureKind::relu, FeatureKind::table};
constexpr LossKind kLosses[] = {LossKind::squared, LossKind::logistic, LossKind::softmax};
constexpr cerf::Penalties kPenalties = {0.1f, 0.2f, 0.3f, 0.05f, 0.15f};
constexpr float kRate = 0.01f;

template <class Body>
void for_each_training(Body body) {
  for (int level = 0; level < cerf::n_levels(); level++) {
    body(*cerf::training_table(cerf::level_name(level)));
  }
}

Parameters exact_parameters(const TrainingCase& net) {
  return {net.parameters.begin(), net.parameters.end()};
}

cerf::StepPlan plan_of(const TrainingCase& net, const cerf::Penalties& penalties,
                       float moment_rate = 1) {
  return {.order = net.order.data(),
          .rates = &kRate,
          .n_steps = 1,
          .batch_size = static_cast<int32_t>(net.order.size()),
          .moment_rate = moment_rate,
          .second_decay = 0.99f,
          .penalties = penalties};
}

struct Gradient {
  double loss;
  std::vector<float> values;
  bool operator==(const Gradient&) const = default;
};

// The network is a copy: its moments change.
Gradient gradient_of(const TrainingTable& table, TrainingCase net,
                     const cerf::Penalties& penalties) {
  const cerf::NetworkLayout layout = net.layout();
  const cerf::StepPlan plan = plan_of(net, penalties);
  cerf::TrainingState state = net.state();
  cerf::Buffer<float> scratch(cerf::training_scratch(layout, plan.batch_size));
  Gradient found{0, std::vector<float>(size_t(layout.n_parameters()))};
  found.loss = table.gradient(layout, net.rows(), plan, state, scratch.data(), found.values.data());
  return found;
}

// Number of roundings times the size of the terms of the gradient: gradient of the scores, head or
// steepest slope of a table, input over the projection's deviation.
Real gradient_bound(const TrainingCase& net, const std::vector<Real>& slopes,
                    const std::vector<Moments>& moments) {
  Real by_score = 0, steepest = 1, inverse = 1;
  for (const Real slope : slopes) by_score += std::fabs(slope);
  const cerf::NetworkLayout at = net.layout();
  const Real per_unit = Real(net.n_knots - 1) / (2 * Real(cerf::kTableEnd));
  for (int64_t i = at.heads_at(); i < at.linear_at(); i++) {
    const Real size = std::fabs(Real(net.parameters[size_t(i)]));
    // Two neighbouring knots differ by at most twice the largest entry.
    steepest = std::max(steepest, net.kind == FeatureKind::table ? 2 * size * per_unit : size);
  }
  for (const Moments& m : moments) inverse = std::max(inverse, 1 / std::sqrt(m.variance + 1e-8L));
  const Real n_roundings = Real(net.n_rows() + net.n_scores + 2 * net.n_features + 30);
  return n_roundings * kUnit<float> * by_score * steepest * inverse;
}

void check_gradient(const TrainingCase& net) {
  const Parameters at = exact_parameters(net);
  const auto value = [&](const Parameters& p) {
    return loss_of(net, scores_of(net, p, all_batch_moments(net, p))) +
           penalty_of(net, p, kPenalties);
  };
  const cerf::NetworkLayout layout = net.layout();
  std::vector<Real> expected;
  for (size_t i = 0; i < at.size(); i++) {
    const int64_t in_head = int64_t(i) - layout.heads_at();
    const bool padding = net.kind == FeatureKind::table && in_head >= 0 &&
                         int64_t(i) < layout.linear_at() &&
                         in_head % layout.padded_scores() >= net.n_scores;
    constexpr Real step = 1e-7L;
    Parameters up = at, down = at;
    up[i] += step, down[i] -= step;
    expected.push_back(padding ? 0 : (value(up) - value(down)) / (2 * step));
  }
  const std::vector<Moments> moments = all_batch_moments(net, at);
  std::vector<Real> slopes;
  const Real loss = loss_of(net, scores_of(net, at, moments), &slopes);
  const Real bound = gradient_bound(net, slopes, moments) + 8 * kUnit<float>;
  for_each_training([&](const TrainingTable& table) {
    const Gradient found = gradient_of(table, net, kPenalties);
    const std::vector<Real> bounds(expected.size(), bound);
    const Real ratio = worst_ratio(found.values, expected.data(), bounds.data());
    expect(ratio <= 1, "%s %s: gradient, %.3Lg times the bound", table.level, net.name().c_str(),
           ratio);
    expect(std::fabs(Real(found.loss) - loss) <= bound, "%s %s: loss off by %.3Lg", table.level,
           net.name().c_str(), std::fabs(Real(found.loss) - loss));
    expect(found == gradient_of(table, net, kPenalties), "%s %s: other bits when repeated",
           table.level, net.name().c_str());
  });
}

void gradients() {
  for (const FeatureKind kind : kKinds) {
    for (const LossKind loss : kLosses) {
      for (const int32_t n_scores : {1, 3, 7, 10, 17}) {
        check_gradient(training_case(kind, loss, n_scores, 70));
      }
    }
    for (const int64_t n_rows : {9, 64, 65, 128}) {
      check_gradient(training_case(kind, LossKind::squared, 2, n_rows));
    }
  }
  // One score: tables that fill registers, or one knot more, and tables too large for registers.
  for (const int32_t n_knots : {3, 8, 9, 10, 16, 17, 18, 33, 34, 65, 66, 128, 129, 130, 257, 258}) {
    check_gradient(training_case(FeatureKind::table, LossKind::logistic, 1, 70, n_knots));
  }
}

// Clamped to three deviations from the mean before the step.
void running_moments() {
  TrainingCase net = training_case(FeatureKind::table, LossKind::squared, 1, 90);
  for (size_t i = 0; i < net.X.size(); i += 7) net.X[i] *= 30;
  net.means = {0.2f, -0.1f, 0.0f}, net.variances = {0.5f, 1.0f, 0.1f};
  const Parameters p = exact_parameters(net);
  constexpr float rate = 0.25f;
  for_each_training([&](const TrainingTable& table) {
    TrainingCase changed = net;
    cerf::TrainingState state = changed.state();
    const cerf::StepPlan plan = plan_of(changed, {}, rate);
    cerf::Buffer<float> scratch(cerf::training_scratch(changed.layout(), plan.batch_size));
    table.run_steps(changed.layout(), changed.rows(), plan, state, scratch.data());
    for (int32_t k = 0; k < net.n_components; k++) {
      const Real mean = net.means[size_t(k)], variance = net.variances[size_t(k)];
      const Real end = cerf::kTableEnd * std::sqrt(variance + Real(cerf::kLeastVariance));
      Real total = 0, sum = 0, squares = 0, n_clamped = 0;
      for (int64_t i = 0; i < net.n_rows(); i++) {
        const Real apart = projection(net, p, k, i) - mean, weight = net.weights[size_t(i)];
        const Real clamped = std::clamp(apart, -end, end);
        n_clamped += Real(apart != clamped);
        total += weight, sum += weight * clamped, squares += weight * clamped * clamped;
      }
      const Real shift = sum / total;
      // Of relu features, at least a share of the variance of all values.
      const Moments all = batch_moments(net, p, k);
      const Real least = net.kind == FeatureKind::relu ? cerf::kLeastClamped * all.variance : 0;
      const Real spread = std::max(squares / total - shift * shift, least);
      const Real bound = 120 * kUnit<float> * (end * end + end);
      expect(n_clamped > 5, "the test clamps values");
      expect(std::fabs(changed.means[size_t(k)] - (mean + rate * shift)) <= bound,
             "%s: running mean", table.level);
      expect(std::fabs(changed.variances[size_t(k)] - (variance + rate * (spread - variance))) <=
                 bound,
             "%s: running variance", table.level);
    }
  });
}

// One step of Adam from zero moments: rate * g / (|g| + tiny).
void first_step() {
  for (const FeatureKind kind : kKinds) {
    const TrainingCase net = training_case(kind, LossKind::logistic, 3, 70);
    for_each_training([&](const TrainingTable& table) {
      const Gradient gradient = gradient_of(table, net, kPenalties);
      TrainingCase changed = net;
      cerf::TrainingState state = changed.state();
      const cerf::StepPlan plan = plan_of(changed, kPenalties);
      cerf::Buffer<float> scratch(cerf::training_scratch(changed.layout(), plan.batch_size));
      const double loss =
          table.run_steps(changed.layout(), changed.rows(), plan, state, scratch.data());
      expect(loss == gradient.loss && state.n_steps == 1, "%s: loss of a step", table.level);
      std::vector<Real> expected, bounds;
      for (size_t i = 0; i < net.parameters.size(); i++) {
        const Real g = gradient.values[i];
        expected.push_back(net.parameters[i] - Real(kRate) * g / (std::fabs(g) + 1e-8L));
        bounds.push_back(kUnit<float> * (1 + 20 * Real(kRate)));
      }
      const Real ratio = worst_ratio(changed.parameters, expected.data(), bounds.data());
      expect(ratio <= 1, "%s %s: a step of Adam, %.3Lg times the bound", table.level,
             net.name().c_str(), ratio);
    });
  }
}

void check_scores(TrainingCase net) {
  net.means = {0.2f, -0.3f, 0.1f}, net.variances = {0.4f, 1.0f, 2.0f};
  std::vector<Moments> moments;
  for (size_t k = 0; k < 3; k++) moments.push_back({net.means[k], net.variances[k]});
  const std::vector<Real> expected = scores_of(net, exact_parameters(net), moments);
  // Six inputs and three features of numbers below one; slopes of tables of five knots are below
  // three, of more knots in proportion.
  const Real steepest = Real(3) * std::max(1, (net.n_knots - 1) / 4);
  const std::vector<Real> bounds(expected.size(), kUnit<float> * 40 * 12 * steepest);
  for_each_training([&](const TrainingTable& table) {
    std::vector<float> out(expected.size());
    cerf::Buffer<float> scratch(cerf::training_scratch(net.layout(), 1));
    table.scores(net.layout(), net.X.data(), net.n_rows(), net.state(), scratch.data(), out.data());
    const Real ratio = worst_ratio(out, expected.data(), bounds.data());
    expect(ratio <= 1, "%s %s: scores, %.3Lg times the bound", table.level, net.name().c_str(),
           ratio);
  });
}

void scores() {
  for (const FeatureKind kind : kKinds) {
    for (const int32_t n_scores : {1, 4, 9}) {
      for (const int64_t n_rows : {1, 255, 256, 300}) {
        check_scores(training_case(kind, LossKind::squared, n_scores, n_rows));
      }
    }
  }
  for (const int32_t n_knots : {3, 9, 10, 17, 18, 34, 66, 130, 257, 258, 1000}) {
    check_scores(training_case(FeatureKind::table, LossKind::squared, 1, 100, n_knots));
  }
}

// Inputs that are not finite, or huge, reach no memory outside of the arrays.
void wild_inputs() {
  for (const FeatureKind kind : kKinds) {
    TrainingCase net = training_case(kind, LossKind::softmax, 3, 70);
    const float wild[] = {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::max()};
    for (size_t i = 0; i < net.X.size(); i += 5) net.X[i] = wild[i % 3];
    for_each_training([&](const TrainingTable& table) {
      const Gradient found = gradient_of(table, net, kPenalties);
      expect(found.values.size() == net.parameters.size(), "%s: wild inputs", table.level);
    });
  }
}

template <class Change>
void expect_refused(const std::string& text, Change change) {
  TrainingCase net = training_case(FeatureKind::table, LossKind::squared, 3, 9);
  net.check();
  change(net);
  std::string message;
  try {
    net.check();
  } catch (const std::invalid_argument& error) {
    message = error.what();
  }
  expect(message.find(text) != std::string::npos, "not refused: %s", text.c_str());
}

// (The messages of the bindings: tests/training/test_steps.py.)
void refusals() {
  using Case = TrainingCase;
  expect_refused("among the features", [](Case& m) { m.inputs[0] = -1; });
  expect_refused("among the features", [](Case& m) { m.inputs.back() = 6; });
  expect_refused("among the features", [](Case& m) { m.linear_inputs[0] = 6; });
  expect_refused("among the features", [](Case& m) { m.n_features = 0; });
  expect_refused("pointers must rise", [](Case& m) { m.pointers[1] = int64_t(1) << 40; });
  expect_refused("pointers must rise", [](Case& m) { m.pointers[0] = 1; });
  expect_refused("pointers must rise", [](Case& m) { m.pointers[1] = -1; });
  expect_refused("pointers must rise", [](Case& m) { m.inputs.pop_back(); });
  expect_refused("pointers must rise", [](Case& m) { m.linear_pointers[1] = int64_t(1) << 40; });
  expect_refused("pointers must have", [](Case& m) { m.pointers.pop_back(); });
  expect_refused("pointers must have", [](Case& m) { m.n_components = 2; });
  expect_refused("pointers must have", [](Case& m) { m.n_components = -1; });
  expect_refused("linear_pointers", [](Case& m) { m.linear_pointers.pop_back(); });
  expect_refused("linear_pointers", [](Case& m) { m.n_scores = 0; });
  expect_refused("linear_pointers", [](Case& m) { m.n_scores = INT32_MAX; });
  expect_refused("three knots", [](Case& m) { m.n_knots = 2; });
  expect(cerf::training_table("v9") == nullptr, "an unknown level has no table");
}

}  // namespace

void test_training() {
  refusals();
  gradients();
  running_moments();
  first_step();
  scores();
  wild_inputs();
}
