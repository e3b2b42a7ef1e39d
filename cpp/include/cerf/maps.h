// Feature maps as plain arrays, in radians: the arguments of callers, and their check.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cerf {

// NumPy: a C-contiguous array of two dimensions. The arrays belong to the caller.
template <class T>
struct MatrixView {
  const T* data = nullptr;
  int64_t n_rows = 0, n_columns = 0;
  std::span<const T> values() const { return {data, static_cast<size_t>(n_rows * n_columns)}; }
};

// What a map is, whatever its structure.
struct Outputs {
  std::vector<double> offsets, amplitudes;  // one a projection
  int64_t n_outputs;
  bool paired;
  bool relu = false;   // amplitude * max(phase, 0) instead of the cosine; never paired
  bool table = false;  // phases are in bins of tables, not in radians; amplitudes are not used
  int32_t n_projections() const { return static_cast<int32_t>(offsets.size()); }
};

struct DenseMap {
  MatrixView<double> frequencies;  // (n_features, n_projections)
  int64_t n_features() const { return frequencies.n_rows; }
};

// Mask m reads mask_inputs[mask_pointers[m] ..] and is the mask of projections
// projection_pointers[m] ..; values: per mask a C-ordered block (inputs, projections). Inputs come
// in aligned groups of `group_size`, which is a hint.
struct MaskedMap {
  int64_t n_inputs;
  std::span<const int64_t> mask_pointers;
  std::span<const int32_t> mask_inputs;
  std::span<const int64_t> projection_pointers;
  std::span<const double> values;
  int64_t group_size;
  int64_t n_features() const { return n_inputs; }
  int64_t n_masks() const { return static_cast<int64_t>(mask_pointers.size()) - 1; }
};

struct FastfoodMap {
  int64_t n_inputs;
  MatrixView<double> signs;                   // (1 or n_blocks, padded)
  MatrixView<double> gaussian_diag;           // (n_blocks, padded)
  MatrixView<int32_t> permutation;            // (n_blocks, padded)
  std::span<const double> row_scale;          // (n_projections,)
  std::span<const int64_t> kept_pointers;     // (n_blocks + 1,)
  std::span<const int32_t> kept_rows;         // (n_projections,)
  std::optional<MatrixView<double>> centres;  // (n_blocks, n_features)
  int64_t n_features() const { return n_inputs; }
  int64_t n_blocks() const { return gaussian_diag.n_rows; }
  int64_t padded() const { return gaussian_diag.n_columns; }
  bool shared_signs() const { return signs.n_rows == 1; }
};

// Score o has the terms values[i] * x[inputs[i]] for i from pointers[o] to pointers[o + 1].
struct LinearMap {
  int64_t n_inputs;
  std::span<const int64_t> pointers;  // (n_scores + 1,)
  std::span<const int32_t> inputs;
  std::span<const double> values;
  int64_t n_scores() const { return static_cast<int64_t>(pointers.size()) - 1; }
};

// Feature k has u = offsets[k] + sum of values[i] * x[mask_inputs[i]] for i from mask_pointers[k]
// to mask_pointers[k + 1], in bins, and adds row clamp(floor(u), 0, n_bins - 1) of its table to the
// scores; the linear part and the intercept are added too. There may be no feature at all.
struct TableMap {
  std::span<const int64_t> mask_pointers;  // (n_tables + 1,)
  std::span<const int32_t> mask_inputs;    // ascending in each mask, which may be empty
  std::span<const double> values;
  std::span<const double> offsets;  // (n_tables,)
  int64_t n_bins;                   // 2 to kMostBins
  std::span<const double> tables;   // (n_tables, n_bins, n_scores)
  LinearMap linear;
  std::span<const double> intercept;  // (n_scores,)
  int64_t n_features() const { return linear.n_inputs; }
  int64_t n_tables() const { return static_cast<int64_t>(offsets.size()); }
  int64_t n_scores() const { return static_cast<int64_t>(intercept.size()); }
};
constexpr int64_t kMostBins = int64_t(1) << 16;
constexpr int64_t kMostScores = int64_t(1) << 24;

// Whether every shape, pointer and index of a map fits the others, every number is finite and
// every size fits the type that packed layouts keep it in. Throws std::invalid_argument.
void check(const Outputs&);
void check(const DenseMap&, const Outputs&);
void check(const MaskedMap&, const Outputs&);
void check(const FastfoodMap&, const Outputs&);
void check(const LinearMap&);
void check(const TableMap&);

// Throws std::invalid_argument unless the condition holds.
void require(bool holds, const char* message);
// Relu features have no sine.
void require_single_if(bool relu, bool paired);

}  // namespace cerf
