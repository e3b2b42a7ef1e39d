// Training of networks of masked features, in float32: loss, gradient and Adam in one call.
//
// A network with K features of D inputs and O scores:
//   z_k = sum over its inputs of w x,  y_k = (z_k - mean_k) / sqrt(variance_k)
//   scores = bias + L^T x + sum over k of
//     head_k cos(scale_k y_k + offset_k)      cosine
//     head_k max(y_k + offset_k, 0)           relu
//     table_k interpolated at y_k             table: knots evenly spaced over [-kTableEnd,
//     kTableEnd]
// Moments of the projections follow the batches (running averages); the gradient treats them as
// those of the batch, as batch normalisation does, so that weights keep their size.
#pragma once

#include <cstdint>
#include <span>

namespace cerf {

enum class FeatureKind : int32_t { cosine, relu, table };
enum class LossKind : int32_t { squared, logistic, softmax };

constexpr float kTableEnd = 3.0f;
constexpr float kLeastVariance = 1e-8f;
constexpr float kLeastClamped = 1.0f / 2500.0f;  // of the variance of a batch, for relu
constexpr int32_t kBatchMultiple = 64;           // rows of a batch are padded to a multiple of it

// Which inputs a network reads. Its numbers are one array: weights (one an entry of `inputs`),
// scales (K), offsets (K), heads (K, head_size), linear part (one an entry of `linear_inputs`),
// bias (O). A head has O numbers, or those of n_knots rows of `padded_scores`.
struct NetworkLayout {
  FeatureKind kind;
  int32_t n_features, n_components, n_scores, n_knots;
  const int64_t* pointers;         // (K + 1,): where the inputs of each feature start
  const int32_t* inputs;           // (pointers[K],)
  const int64_t* linear_pointers;  // (O + 1,): where the inputs of each score start
  const int32_t* linear_inputs;    // (linear_pointers[O],)

  int32_t padded_scores() const {
    return n_scores == 1 ? 1 : n_scores <= 4 ? 4 : (n_scores + 7) / 8 * 8;
  }
  int64_t head_size() const {
    return kind == FeatureKind::table ? int64_t(n_knots) * padded_scores() : n_scores;
  }
  int64_t scales_at() const { return pointers[n_components]; }
  int64_t offsets_at() const { return scales_at() + n_components; }
  int64_t heads_at() const { return offsets_at() + n_components; }
  int64_t linear_at() const { return heads_at() + n_components * head_size(); }
  int64_t bias_at() const { return linear_at() + linear_pointers[n_scores]; }
  int64_t n_parameters() const { return bias_at() + n_scores; }
};

struct TrainingRows {
  const float* X;        // (n_rows, D), C order
  const float* targets;  // (n_rows, O)
  const float* weights;  // (n_rows,), of mean one
  int64_t n_rows;
  LossKind loss;
};

// Quadratic penalties, halved: of the weights, the scales of cosines, the heads (tables: mean over
// knots), second differences of tables, the linear part. Biases and offsets are free.
struct Penalties {
  float weights, scales, heads, curvature, linear;
};

// Everything that a step changes.
struct TrainingState {
  float* parameters;  // (n_parameters,)
  float* first;       // moments of Adam
  float* second;
  float* means;      // (K,), running
  float* variances;  // (K,)
  int64_t n_steps;   // of Adam so far
};

struct StepPlan {
  const int32_t* order;  // (n_steps, batch_size): rows of each step
  const float* rates;    // (n_steps,)
  int64_t n_steps;
  int32_t batch_size;
  float moment_rate;   // weight of a batch in the running moments
  float second_decay;  // of Adam
  Penalties penalties;
};

// Whether pointers and inputs fit each other. Throws std::invalid_argument.
void check(const NetworkLayout&, std::span<const int64_t> pointers, std::span<const int32_t> inputs,
           std::span<const int64_t> linear_pointers, std::span<const int32_t> linear_inputs);

// Elements of scratch memory that the functions below need.
int64_t training_scratch(const NetworkLayout&, int32_t batch_size);

struct TrainingTable {
  const char* level;
  // Runs the steps; returns the mean loss of the batches, without penalties.
  double (*run_steps)(const NetworkLayout&, const TrainingRows&, const StepPlan&, TrainingState&,
                      float* scratch);
  // Loss of one batch and its gradient with the running moments, (n_parameters,); for tests.
  double (*gradient)(const NetworkLayout&, const TrainingRows&, const StepPlan&, TrainingState&,
                     float* scratch, float* out);
  // out (n_rows, O) = scores of X with the given moments.
  void (*scores)(const NetworkLayout&, const float* X, int64_t n_rows, const TrainingState&,
                 float* scratch, float* out);
};

const TrainingTable* training_table(const char* level);  // null if unknown or not runnable

}  // namespace cerf
