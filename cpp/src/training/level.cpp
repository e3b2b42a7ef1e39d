// Training steps of one instruction-set level; the build compiles this file once per level.
#include "training/features.h"
#include "training/losses.h"

#define CERF_TEXT_OF(x) #x
#define CERF_TEXT(x) CERF_TEXT_OF(x)

namespace cerf::CERF_LEVEL {

constexpr float kFirstDecay = 0.9f;  // of Adam
constexpr float kTiny = 1e-8f;

static void gather_batch(const NetworkLayout& net, const TrainingRows& rows, const int32_t* order,
                         int32_t count, const BatchMemory& m) {
  gather_rows(rows.X, net.n_features, order, count, m.width, m.inputs);
  gather_rows(rows.targets, net.n_scores, order, count, m.width, m.targets);
  gather_rows(rows.weights, 1, order, count, m.width, m.weights);
}

// gradient += penalty * parameter
static void add_shrinkage(const float* parameters, float penalty, int64_t n, float* gradient) {
  if (penalty == 0.0f) return;
  for (int64_t i = 0; i < n; i++) gradient[i] += penalty * parameters[i];
}

static void add_penalties(const NetworkLayout& net, const Penalties& penalties,
                          const float* parameters, float* gradient) {
  const int64_t scales = net.scales_at(), heads = net.heads_at(), linear = net.linear_at();
  const bool table = net.kind == FeatureKind::table;
  add_shrinkage(parameters, penalties.weights, scales, gradient);
  add_shrinkage(parameters + scales, penalties.scales, net.n_components, gradient + scales);
  const float heads_penalty =
      table ? penalties.heads / static_cast<float>(net.n_knots) : penalties.heads;
  add_shrinkage(parameters + heads, heads_penalty, linear - heads, gradient + heads);
  add_shrinkage(parameters + linear, penalties.linear, net.bias_at() - linear, gradient + linear);
  if (!table || penalties.curvature == 0.0f) return;
  for (int32_t k = 0; k < net.n_components; k++) {
    const int64_t at = heads + k * net.head_size();
    add_curvature(parameters + at, net.n_knots, net.padded_scores(), penalties.curvature,
                  gradient + at);
  }
}

// Loss of a batch, with its gradient in m.gradient.
static double batch_gradient(const NetworkLayout& net, const TrainingRows& rows,
                             const StepPlan& plan, const int32_t* order, TrainingState& state,
                             const BatchMemory& m) {
  gather_batch(net, rows, order, plan.batch_size, m);
  forward(net, m, state.parameters, state.means, state.variances, plan.moment_rate);
  const double loss =
      loss_and_slopes(rows.loss, m, net.n_scores, 1.0f / static_cast<float>(plan.batch_size));
  const int64_t n = net.n_parameters();
  for (int64_t i = 0; i < n; i++) m.gradient[i] = 0.0f;
  backward(net, m, state.parameters, state.variances);
  add_penalties(net, plan.penalties, state.parameters, m.gradient);
  return loss;
}

static void adam_step(const NetworkLayout& net, const StepPlan& plan, float rate,
                      const float* gradient, TrainingState& state) {
  state.n_steps++;
  const double count = static_cast<double>(state.n_steps);
  const float second_decay = plan.second_decay;
  const float correction =
      static_cast<float>(__builtin_sqrt(1.0 - __builtin_pow(double(second_decay), count)));
  const float step =
      static_cast<float>(rate * correction / (1.0 - __builtin_pow(double(kFirstDecay), count)));
  const float tiny = kTiny * correction;
  const int64_t n = net.n_parameters();
  float* __restrict first = state.first;
  float* __restrict second = state.second;
  float* __restrict parameters = state.parameters;
  for (int64_t i = 0; i < n; i++) {
    const float g = gradient[i];
    first[i] = kFirstDecay * first[i] + (1.0f - kFirstDecay) * g;
    second[i] = second_decay * second[i] + (1.0f - second_decay) * g * g;
    parameters[i] -= step * first[i] / (__builtin_sqrtf(second[i]) + tiny);
  }
}

static double run_steps(const NetworkLayout& net, const TrainingRows& rows, const StepPlan& plan,
                        TrainingState& state, float* scratch) {
  const BatchMemory m = memory_of(net, plan.batch_size, scratch);
  double total = 0.0;
  for (int64_t step = 0; step < plan.n_steps; step++) {
    total += batch_gradient(net, rows, plan, plan.order + step * plan.batch_size, state, m);
    adam_step(net, plan, plan.rates[step], m.gradient, state);
  }
  return plan.n_steps > 0 ? total / static_cast<double>(plan.n_steps) : 0.0;
}

static double gradient(const NetworkLayout& net, const TrainingRows& rows, const StepPlan& plan,
                       TrainingState& state, float* scratch, float* out) {
  const BatchMemory m = memory_of(net, plan.batch_size, scratch);
  const double loss = batch_gradient(net, rows, plan, plan.order, state, m);
  std::memcpy(out, m.gradient, static_cast<size_t>(net.n_parameters()) * sizeof(float));
  return loss;
}

static void scores(const NetworkLayout& net, const float* X, int64_t n_rows,
                   const TrainingState& state, float* scratch, float* out) {
  constexpr int32_t count = 4 * kBatchMultiple;
  const BatchMemory m = memory_of(net, count, scratch);
  int32_t order[count];
  for (int32_t s = 0; s < count; s++) order[s] = s;
  for (int64_t first = 0; first < n_rows; first += count) {
    const int32_t n = static_cast<int32_t>(n_rows - first < count ? n_rows - first : count);
    gather_rows(X + first * net.n_features, net.n_features, order, n, m.width, m.inputs);
    forward(net, m, state.parameters, state.means, state.variances, 0.0f);
    for (int32_t s = 0; s < n; s++) {
      for (int32_t o = 0; o < net.n_scores; o++) {
        out[(first + s) * net.n_scores + o] = m.scores[int64_t(o) * m.width + s];
      }
    }
  }
}

extern const TrainingTable training;
const TrainingTable training = {
    .level = CERF_TEXT(CERF_LEVEL), .run_steps = run_steps, .gradient = gradient, .scores = scores};

}  // namespace cerf::CERF_LEVEL
