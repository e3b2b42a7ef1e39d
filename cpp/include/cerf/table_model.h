// Scores by tables and a linear part, packed.
#pragma once

#include <cstdint>
#include <memory>

#include "cerf/buffer.h"
#include "cerf/kernel_table.h"
#include "cerf/linear.h"
#include "cerf/maps.h"

namespace cerf {

template <class T>
class Structure;
template <class T>
struct Panel;

// Thread-safe, and the same bits for any number of threads, as `Model`.
template <class T>
class TableModel {
 public:
  // Checks the map and packs it. Throws std::invalid_argument if its arrays do not fit each other.
  TableModel(const TableMap& map, const KernelTable<T>& kernels);
  TableModel(TableModel&&) noexcept;
  ~TableModel();

  // NumPy: out = X @ linear + tables looked up + intercept, (n_rows, n_scores), C order. False,
  // with `out` undefined, if X is not finite; std::invalid_argument if `out` shares memory with X.
  bool scores(const Input<T>& X, T* out, int n_threads) const;

  int32_t n_features() const { return linear_.n_features(); }
  int32_t n_scores() const { return linear_.n_scores(); }
  int64_t one_row_below() const;
  const char* level() const { return kernels_.level; }
  int64_t n_bytes() const;

 private:
  struct Workspace;
  struct Reading;  // what panels hold
  bool run_rows(const Input<T>& X, T* out) const;
  bool run_batch(const Input<T>& X, T* out, int n_threads) const;
  void run_panel(const Panel<T>& panel, Workspace& space, T* out) const;
  TableLayout<T> layout() const;

  Linear<T> linear_;
  std::unique_ptr<Structure<T>> structure_;  // null: no tables
  std::unique_ptr<Reading> reading_;
  int32_t n_tables_, n_bins_, row_size_;
  Buffer<T> offsets_, amplitudes_, tables_, intercept_;
  const KernelTable<T>& kernels_;
};

}  // namespace cerf
