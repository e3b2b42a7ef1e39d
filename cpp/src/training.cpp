// Sizes and checks of training, which do not depend on the instruction-set level.
#include "cerf/training.h"

#include <algorithm>

#include "cerf/maps.h"

namespace cerf {

int64_t training_scratch(const NetworkLayout& net, int32_t batch_size) {
  const int64_t least = 4 * kBatchMultiple;  // what scores of many rows use
  const int64_t rows = std::max<int64_t>(batch_size, least);
  const int64_t width = (rows + kBatchMultiple - 1) / kBatchMultiple * kBatchMultiple;
  const int64_t per_sample = int64_t(net.n_features) + 2 * int64_t(net.n_scores) + 3 +
                             net.n_components + net.padded_scores();
  return per_sample * width + net.n_parameters() + kBatchMultiple;
}

namespace {

void check_pointers(std::span<const int64_t> pointers, std::span<const int32_t> inputs,
                    int32_t n_features) {
  require(!pointers.empty() && pointers.front() == 0 &&
              std::is_sorted(pointers.begin(), pointers.end()) &&
              pointers.back() == static_cast<int64_t>(inputs.size()),
          "pointers must rise from 0 to the number of inputs");
  require(std::all_of(inputs.begin(), inputs.end(),
                      [=](int32_t d) { return d >= 0 && d < n_features; }),
          "an input is not among the features");
}

}  // namespace

void check(const NetworkLayout& net, std::span<const int64_t> pointers,
           std::span<const int32_t> inputs, std::span<const int64_t> linear_pointers,
           std::span<const int32_t> linear_inputs) {
  require(net.n_components >= 0 &&
              static_cast<int64_t>(pointers.size()) == int64_t(net.n_components) + 1,
          "pointers must have one number more than there are features");
  require(net.n_scores >= 1 &&
              static_cast<int64_t>(linear_pointers.size()) == int64_t(net.n_scores) + 1,
          "linear_pointers must have one number more than there are scores");
  require(net.kind != FeatureKind::table || net.n_knots >= 3, "a table needs three knots or more");
  check_pointers(pointers, inputs, net.n_features);
  check_pointers(linear_pointers, linear_inputs, net.n_features);
}

}  // namespace cerf
