#include "read_inputs.h"

#include <algorithm>

namespace cerf {

ReadInputs::ReadInputs(int32_t n_features, std::span<const int32_t> mask_inputs, int32_t line)
    : n_rows_(0) {
  std::vector<bool> read(static_cast<size_t>(n_features));
  for (const int32_t input : mask_inputs) read[static_cast<size_t>(input)] = true;
  n_rows_ = static_cast<int32_t>(std::count(read.begin(), read.end(), true));
  if (n_rows_ == n_features) return;
  int32_t next = 0;
  for (const bool is_read : read) rows_.push_back(is_read ? next++ : n_rows_);
  for (int32_t begin = 0; begin < n_features; begin += line) {
    const int32_t end = std::min(begin + line, n_features);
    const bool some =
        std::find(read.begin() + begin, read.begin() + end, true) != read.begin() + end;
    if (runs_.empty() || runs_.back().read != some) {
      runs_.push_back({.begin = begin, .end = end, .read = some});
    } else {
      runs_.back().end = end;
    }
  }
}

}  // namespace cerf
