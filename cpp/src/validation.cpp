// What a map must satisfy before it is packed. Sizes are compared as 64-bit numbers: packing
// narrows them afterwards.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cerf/layout.h"
#include "cerf/maps.h"

namespace cerf {
namespace {

constexpr int64_t kMostProjections = int64_t(1) << 30;
constexpr int64_t kMostBlocks = int64_t(1) << 30;
constexpr int64_t kMostPadded = int64_t(1) << 24;

void require_finite(std::span<const double> values, const char* message) {
  require(std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); }),
          message);
}

void require_below(std::span<const int32_t> values, int64_t limit, const char* message) {
  require(
      std::all_of(values.begin(), values.end(), [limit](int32_t x) { return x >= 0 && x < limit; }),
      message);
}

template <class T>
int64_t length(std::span<const T> values) {
  return static_cast<int64_t>(values.size());
}

template <class T>
bool has_shape(const MatrixView<T>& matrix, int64_t n_rows, int64_t n_columns) {
  return matrix.n_rows == n_rows && matrix.n_columns == n_columns;
}

// A panel's rows are addressed by 32-bit byte offsets.
void check_features(int64_t n_features) {
  require(n_features > 0 && n_features < (int64_t(1) << 32) / kPanelRowBytes,
          "n_features must be between 1 and 2^24");
}

// All pointers, before an entry that they name is read.
void check_mask_pointers(const MaskedMap& map, const Outputs& outputs) {
  const auto &begin = map.mask_pointers, &serve = map.projection_pointers;
  require(begin.size() > 1 && serve.size() == begin.size(),
          "mask_pointers and projection_pointers must have n_masks + 1 entries");
  require(begin.front() == 0 && serve.front() == 0 && serve.back() == outputs.n_projections() &&
              begin.back() == length(map.mask_inputs),
          "pointers must start at 0 and end at the number of entries");
  check_features(map.n_features());
  for (size_t m = 0; m + 1 < begin.size(); m++) {
    require(begin[m] < begin[m + 1] && serve[m] < serve[m + 1],
            "mask_pointers and projection_pointers must ascend: a mask is empty");
  }
}

void check_kept(const FastfoodMap& map, int64_t n_projections) {
  const auto& pointers = map.kept_pointers;
  require(length(map.row_scale) == n_projections && length(map.kept_rows) == n_projections &&
              length(pointers) == map.n_blocks() + 1 && pointers.front() == 0 &&
              pointers.back() == n_projections,
          "kept_pointers, kept_rows and row_scale must describe every projection");
  require(std::is_sorted(pointers.begin(), pointers.end()), "kept_pointers must ascend");
  require_below(map.kept_rows, map.padded(), "kept_rows must be below the padded size");
}

// Pointers of compressed lists, which may be empty, before an entry that they name is read.
void check_lists(std::span<const int64_t> pointers, int64_t n_lists, int64_t n_entries,
                 const char* message) {
  require(length(pointers) == n_lists + 1 && pointers.front() == 0 &&
              pointers.back() == n_entries && std::is_sorted(pointers.begin(), pointers.end()),
          message);
}

void check_ascending(std::span<const int64_t> pointers, std::span<const int32_t> inputs,
                     const char* message) {
  for (size_t list = 0; list + 1 < pointers.size(); list++) {
    for (int64_t i = pointers[list] + 1; i < pointers[list + 1]; i++) {
      require(inputs[size_t(i - 1)] < inputs[size_t(i)], message);
    }
  }
}

}  // namespace

void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

void require_single_if(bool relu, bool paired) {
  require(!(relu && paired), "relu features have no sine: paired must be false");
}

void check(const Outputs& outputs) {
  const int64_t n_projections = static_cast<int64_t>(outputs.offsets.size());
  const int64_t n_outputs = outputs.n_outputs;
  require(n_projections > 0 && n_projections < kMostProjections,
          "a map needs between one and 2^30 projections");
  require(outputs.amplitudes.size() == outputs.offsets.size(),
          "amplitudes and offsets differ in length");
  require(outputs.paired ? (n_outputs == 2 * n_projections || n_outputs == 2 * n_projections - 1)
                         : n_outputs == n_projections,
          "n_outputs does not fit the number of projections");
  require_single_if(outputs.relu, outputs.paired);
  require_finite(outputs.offsets, "offsets must be finite");
  require_finite(outputs.amplitudes, "amplitudes must be finite");
}

void check(const DenseMap& map, const Outputs& outputs) {
  check(outputs);
  require(map.frequencies.n_columns == outputs.n_projections(),
          "frequencies and offsets differ in the number of projections");
  require_finite(map.frequencies.values(), "frequencies must be finite");
  check_features(map.n_features());
}

void check(const MaskedMap& map, const Outputs& outputs) {
  check(outputs);
  check_mask_pointers(map, outputs);
  int64_t n_values = 0;
  for (size_t m = 0; m + 1 < map.mask_pointers.size(); m++) {
    const int64_t begin = map.mask_pointers[m], end = map.mask_pointers[m + 1];
    n_values += (end - begin) * (map.projection_pointers[m + 1] - map.projection_pointers[m]);
    for (int64_t i = begin; i < end; i++) {
      const int32_t input = map.mask_inputs[size_t(i)];
      require(input >= 0 && input < map.n_features() &&
                  (i == begin || map.mask_inputs[size_t(i - 1)] < input),
              "the inputs of a mask must be ascending and below n_features");
    }
  }
  require(length(map.values) == n_values,
          "values must hold inputs x projections entries for each mask");
  require_finite(map.values, "values must be finite");
  const int64_t group_size = map.group_size;
  require(group_size > 0 && group_size <= 16 && (group_size & (group_size - 1)) == 0,
          "group_size must be 1, 2, 4, 8 or 16");
}

void check(const FastfoodMap& map, const Outputs& outputs) {
  check(outputs);
  check_features(map.n_features());
  const int64_t n_blocks = map.n_blocks(), padded = map.padded();
  require(padded >= 2 && (padded & (padded - 1)) == 0 && padded >= map.n_features() &&
              padded <= kMostPadded,
          "the padded size must be a power of two, at least 2 and n_features");
  require(n_blocks < kMostBlocks, "gaussian_diag must have fewer than 2^30 blocks");
  require(has_shape(map.signs, 1, padded) || has_shape(map.signs, n_blocks, padded),
          "signs must be (1 or n_blocks, padded)");
  require(has_shape(map.permutation, n_blocks, padded), "permutation must be (n_blocks, padded)");
  require_below(map.permutation.values(), padded,
                "permutation entries must be below the padded size");
  check_kept(map, outputs.n_projections());
  require(!map.centres || has_shape(*map.centres, n_blocks, map.n_features()),
          "centres must be (n_blocks, n_features)");
  require_finite(map.signs.values(), "signs must be finite");
  require_finite(map.gaussian_diag.values(), "gaussian_diag must be finite");
  require_finite(map.row_scale, "row_scale must be finite");
  if (map.centres) require_finite(map.centres->values(), "centres must be finite");
}

void check(const LinearMap& map) {
  check_features(map.n_inputs);
  require(map.n_scores() >= 0 && map.n_scores() <= kMostScores,
          "linear_pointers must have between 1 and 2^24 + 1 entries");
  check_lists(map.pointers, map.n_scores(), length(map.inputs),
              "linear_pointers must ascend from 0 to the number of linear_inputs");
  require(map.values.size() == map.inputs.size(),
          "linear_values and linear_inputs differ in length");
  require_below(map.inputs, map.n_inputs, "linear_inputs must be below n_features");
  check_ascending(map.pointers, map.inputs, "the linear_inputs of a score must ascend");
  require_finite(map.values, "linear_values must be finite");
}

void check(const TableMap& map) {
  check(map.linear);
  const int64_t n_tables = map.n_tables(), n_scores = map.n_scores();
  require(n_scores == map.linear.n_scores(), "linear_pointers must have n_scores + 1 entries");
  require(n_tables < kMostProjections, "there must be fewer than 2^30 tables");
  require(map.n_bins >= 2 && map.n_bins <= kMostBins, "n_bins must be between 2 and 65536");
  // Rows are padded to at most 16 entries more than there are scores.
  require(map.n_bins * (n_scores + 16) < (int64_t(1) << 31),
          "n_bins * (n_scores + 16) must be below 2^31");
  require(n_scores == 0 ? map.tables.empty()
                        : length(map.tables) % (map.n_bins * n_scores) == 0 &&
                              length(map.tables) / (map.n_bins * n_scores) == n_tables,
          "tables must be (n_tables, n_bins, n_scores)");
  check_lists(
      map.mask_pointers, n_tables, length(map.mask_inputs),
      "mask_pointers must ascend from 0 to the number of mask_inputs, n_tables + 1 entries");
  require(map.values.size() == map.mask_inputs.size(), "values and mask_inputs differ in length");
  require_below(map.mask_inputs, map.n_features(), "mask_inputs must be below n_features");
  check_ascending(map.mask_pointers, map.mask_inputs, "the inputs of a mask must be ascending");
  require_finite(map.values, "values must be finite");
  require_finite(map.offsets, "offsets must be finite");
  require_finite(map.tables, "tables must be finite");
  require_finite(map.intercept, "intercept must be finite");
}

}  // namespace cerf
