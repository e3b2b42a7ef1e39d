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
  cut_runs(line);
}

ReadInputs::ReadInputs(const PanelInputs& panel, int32_t n_features, std::span<const int32_t> more,
                       int32_t line)
    : n_rows_(panel.n_rows) {
  if (panel.rows == nullptr) return;
  constexpr int32_t unread = -1;
  rows_.assign(panel.rows, panel.rows + n_features);
  std::replace(rows_.begin(), rows_.end(), panel.n_rows, unread);
  for (const int32_t input : more) {
    int32_t& row = rows_[static_cast<size_t>(input)];
    if (row == unread) row = n_rows_++;
  }
  std::replace(rows_.begin(), rows_.end(), unread, n_rows_);
  cut_runs(line);
}

// Runs of whole lines that hold some input that is read, or none.
void ReadInputs::cut_runs(int32_t line) {
  const int32_t n_features = static_cast<int32_t>(rows_.size());
  for (int32_t begin = 0; begin < n_features; begin += line) {
    const int32_t end = std::min(begin + line, n_features);
    const bool some = std::any_of(rows_.begin() + begin, rows_.begin() + end,
                                  [this](int32_t row) { return row < n_rows_; });
    if (runs_.empty() || runs_.back().read != some) {
      runs_.push_back({.begin = begin, .end = end, .read = some});
    } else {
      runs_.back().end = end;
    }
  }
}

}  // namespace cerf
