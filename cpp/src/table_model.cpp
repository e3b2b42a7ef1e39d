// Packs tables and runs them over the rows of X.
#include "cerf/table_model.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "cerf/overlap.h"
#include "panels.h"
#include "read_inputs.h"
#include "structures/structure.h"

namespace cerf {
namespace {

// Vectors of single rows may read and write so many elements past the end.
constexpr int64_t kSlack = 64;
// Without tables, from as few rows on a panel is quicker.
constexpr int64_t kOneRowBelow = 6;

// One score takes no padding: rows of it are gathered. The narrowest vector holds few scores.
template <class T>
int32_t row_size_of(int64_t n_scores, const KernelTable<T>& kernels) {
  constexpr int64_t least = 16 / static_cast<int64_t>(sizeof(T));
  if (n_scores <= 1) return 1;
  const int64_t lanes = n_scores <= least ? least : kernels.fastfood_width;
  return static_cast<int32_t>((n_scores + lanes - 1) / lanes * lanes);
}

template <class T>
Buffer<T> padded_tables(const TableMap& map, int32_t row_size) {
  const int64_t n_scores = map.n_scores();
  Buffer<T> tables(map.n_tables() * map.n_bins * row_size);
  std::fill(tables.data(), tables.data() + tables.size(), T(0));
  const double* source = map.tables.data();
  for (int64_t row = 0; n_scores > 0 && row < map.n_tables() * map.n_bins; row++) {
    T* const entries = tables.data() + row * row_size;
    for (int64_t o = 0; o < n_scores; o++) entries[o] = static_cast<T>(*source++);
  }
  return tables;
}

Outputs phases_of(const TableMap& map) {
  Outputs outputs{.offsets = {map.offsets.begin(), map.offsets.end()},
                  .amplitudes = std::vector<double>(map.offsets.size(), 1.0),
                  .n_outputs = map.n_tables(),
                  .paired = false};
  outputs.table = true;
  return outputs;
}

template <class T>
std::unique_ptr<Structure<T>> pack_phases(const TableMap& map, const KernelTable<T>& kernels) {
  if (map.n_tables() == 0) return nullptr;
  std::vector<int64_t> own(map.mask_pointers.size());  // a mask for each table
  std::iota(own.begin(), own.end(), int64_t(0));
  const MaskedMap masked{.n_inputs = map.n_features(),
                         .mask_pointers = map.mask_pointers,
                         .mask_inputs = map.mask_inputs,
                         .projection_pointers = own,
                         .values = map.values,
                         .group_size = 1};
  return pack(masked, phases_of(map), kernels);
}

const TableMap& checked(const TableMap& map) {
  check(map);
  return map;
}

}  // namespace

template <class T>
struct TableModel<T>::Reading {
  ReadInputs inputs;
};

// What one thread writes to, beside its panel.
template <class T>
struct TableModel<T>::Workspace {
  Buffer<T> scratch, rows, sums, linear;
};

template <class T>
TableModel<T>::TableModel(const TableMap& map, const KernelTable<T>& kernels)
    : linear_(checked(map).linear),
      structure_(pack_phases(map, kernels)),
      n_tables_(static_cast<int32_t>(map.n_tables())),
      n_bins_(static_cast<int32_t>(map.n_bins)),
      row_size_(row_size_of(map.n_scores(), kernels)),
      offsets_(map.n_tables() + kTablePadding),
      amplitudes_(map.n_tables()),
      tables_(padded_tables<T>(map, row_size_)),
      intercept_(copy_of<T>(map.intercept)),
      kernels_(kernels) {
  std::fill(offsets_.data(), offsets_.data() + offsets_.size(), T(0));
  std::transform(map.offsets.begin(), map.offsets.end(), offsets_.data(),
                 [](double offset) { return static_cast<T>(offset); });
  std::fill(amplitudes_.data(), amplitudes_.data() + n_tables_, T(1));
  const ReadInputs none(n_features(), {}, kLineInputs<T>);
  reading_ = std::make_unique<Reading>(
      Reading{ReadInputs(structure_ != nullptr ? structure_->panel_inputs() : none.panel_inputs(),
                         n_features(), linear_.inputs(), kLineInputs<T>)});
}

template <class T>
TableModel<T>::TableModel(TableModel&&) noexcept = default;
template <class T>
TableModel<T>::~TableModel() = default;

template <class T>
int64_t TableModel<T>::one_row_below() const {
  return structure_ != nullptr ? structure_->one_row_below() : kOneRowBelow;
}

template <class T>
int64_t TableModel<T>::n_bytes() const {
  return (structure_ != nullptr ? structure_->n_bytes() : 0) + linear_.n_bytes() +
         reading_->inputs.n_bytes() + offsets_.n_bytes() + amplitudes_.n_bytes() +
         tables_.n_bytes() + intercept_.n_bytes();
}

template <class T>
TableLayout<T> TableModel<T>::layout() const {
  return {.n_tables = n_tables_,
          .n_bins = n_bins_,
          .row_size = row_size_,
          .offsets = offsets_.data(),
          .tables = tables_.data()};
}

template <class T>
bool TableModel<T>::scores(const Input<T>& X, T* out, int n_threads) const {
  require(!overlap(extent_of(X), extent_of(out, X.n_rows * n_scores())),
          "out shares memory with X: pass an array of its own");
  // Chosen from the total number of rows, never per thread: the bits must not depend on threads.
  return X.n_rows < one_row_below() ? run_rows(X, out) : run_batch(X, out, n_threads);
}

template <class T>
bool TableModel<T>::run_rows(const Input<T>& X, T* out) const {
  Buffer<T> x(n_features() + kSlack), phases(n_tables_ + 4 * kSlack);
  Buffer<T> scratch(structure_ != nullptr ? structure_->row_scratch() : 0);
  Buffer<T> sums(row_size_), linear(n_scores());
  Buffer<int32_t> places(n_tables_ + kTablePadding);
  std::fill(x.data() + n_features(), x.data() + x.size(), T(0));
  std::fill(phases.data(), phases.data() + phases.size(), T(0));
  std::fill(sums.data(), sums.data() + sums.size(), T(0));
  for (int64_t i = 0; i < X.n_rows; i++) {
    if (!kernels_.copy_row(X, i, x.data())) return false;
    if (structure_ != nullptr) {
      structure_->run_row(x.data(), scratch.data(), phases.data());
      kernels_.table_row(layout(), phases.data(), places.data(), sums.data());
    }
    kernels_.linear_row(linear_.layout(), x.data(), linear.data());
    for (int64_t o = 0; o < n_scores(); o++) {
      out[i * n_scores() + o] = (sums[o] + linear[o]) + intercept_[o];
    }
  }
  return true;
}

template <class T>
bool TableModel<T>::run_batch(const Input<T>& X, T* out, int n_threads) const {
  constexpr int64_t width = kPanelWidth<T>;
  n_threads = threads_for(X.n_rows, n_threads);
  std::vector<Workspace> workspaces;
  for (int t = 0; t < n_threads; t++) {
    workspaces.push_back(
        {.scratch = Buffer<T>(structure_ != nullptr ? structure_->panel_scratch() : 0),
         .rows = Buffer<T>(kSinkRows * width),
         .sums = Buffer<T>(width * row_size_),
         .linear = Buffer<T>(width * n_scores())});
  }
  return for_each_panel(
      X, reading_->inputs.panel_inputs(), kPanelWidth<T>, n_threads, kernels_,
      [&](int t, const Panel<T>& panel) { run_panel(panel, workspaces[size_t(t)], out); });
}

template <class T>
void TableModel<T>::run_panel(const Panel<T>& panel, Workspace& space, T* out) const {
  constexpr int32_t width = kPanelWidth<T>;
  kernels_.linear_panel(linear_.layout(), reading_->inputs.panel_inputs().rows, panel.values, width,
                        space.linear.data());
  std::fill(space.sums.data(), space.sums.data() + space.sums.size(), T(0));
  if (structure_ != nullptr) {
    const TableLayout<T> tables = layout();
    Sink<T> sink{};
    sink.rows = space.rows.data();
    sink.width = width;
    sink.capacity = kSinkRows;
    sink.n_samples = panel.count;
    sink.n_outputs = n_tables_;
    sink.amplitudes = amplitudes_.data();
    sink.tables = &tables;
    sink.sums = space.sums.data();
    prefetch_next(panel, n_tables_, sink);
    structure_->run_panel(panel.values, space.scratch.data(), sink);
  }
  T* row = out + panel.first * n_scores();
  for (int32_t s = 0; s < panel.count; s++, row += n_scores()) {
    const T* sums = space.sums.data() + int64_t(s) * row_size_;
    for (int32_t o = 0; o < n_scores(); o++) {
      row[o] = (sums[o] + space.linear[int64_t(o) * width + s]) + intercept_[o];
    }
  }
}

template class TableModel<float>;
template class TableModel<double>;

}  // namespace cerf
