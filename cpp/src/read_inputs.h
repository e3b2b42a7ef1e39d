// Which inputs the masks of a map read, and the rows of a panel that hold them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cerf/layout.h"

namespace cerf {

class ReadInputs {
 public:
  // All of them, in order.
  explicit ReadInputs(int32_t n_features) : n_rows_(n_features) {}
  // Those that some mask names, in order; runs are cut at multiples of `line` inputs.
  ReadInputs(int32_t n_features, std::span<const int32_t> mask_inputs, int32_t line);
  // Those of a panel, in its rows, and more of them in the rows behind.
  ReadInputs(const PanelInputs& panel, int32_t n_features, std::span<const int32_t> more,
             int32_t line);

  int32_t row_of(int32_t input) const {
    return rows_.empty() ? input : rows_[static_cast<size_t>(input)];
  }
  int32_t n_rows() const { return n_rows_; }
  int64_t n_bytes() const {
    return static_cast<int64_t>(rows_.size() * sizeof(int32_t) + runs_.size() * sizeof(InputRun));
  }
  PanelInputs panel_inputs() const {
    return {.n_rows = n_rows_,
            .rows = rows_.empty() ? nullptr : rows_.data(),
            .runs = runs_.data(),
            .n_runs = static_cast<int64_t>(runs_.size())};
  }

 private:
  void cut_runs(int32_t line);

  int32_t n_rows_;
  std::vector<int32_t> rows_;  // empty: all inputs are read
  std::vector<InputRun> runs_;
};

// Inputs in one cache line of a row of X.
template <class T>
constexpr int32_t kLineInputs = 64 / static_cast<int32_t>(sizeof(T));

}  // namespace cerf
