// A sparse linear part of scores, packed for one type.
#pragma once

#include <cstdint>
#include <span>

#include "cerf/buffer.h"
#include "cerf/layout.h"
#include "cerf/maps.h"

namespace cerf {

// NumPy: X @ linear, with linear (n_features, n_scores) sparse. Immutable.
template <class T>
class Linear {
 public:
  // Checks the map and copies it. Throws std::invalid_argument if its arrays do not fit.
  explicit Linear(const LinearMap& map);

  LinearLayout<T> layout() const {
    return {.n_scores = n_scores_,
            .pointers = pointers_.data(),
            .inputs = inputs_.data(),
            .values = values_.data()};
  }
  std::span<const int32_t> inputs() const {
    return {inputs_.data(), static_cast<size_t>(inputs_.size())};
  }
  int32_t n_features() const { return n_features_; }
  int32_t n_scores() const { return n_scores_; }
  int64_t n_bytes() const { return pointers_.n_bytes() + inputs_.n_bytes() + values_.n_bytes(); }

 private:
  int32_t n_features_, n_scores_;
  Buffer<int64_t> pointers_;
  Buffer<int32_t> inputs_;
  Buffer<T> values_;
};

}  // namespace cerf
