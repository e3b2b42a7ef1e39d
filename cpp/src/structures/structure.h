// The projections of a map: how phases come from inputs. One structure a file beside this one.
#pragma once

#include <algorithm>
#include <memory>

#include "cerf/buffer.h"
#include "cerf/kernel_table.h"
#include "cerf/maps.h"
#include "turns.h"

namespace cerf {

// Immutable after construction, apart from the one-row layout, which is built on first use.
template <class T>
class Structure {
 public:
  virtual ~Structure() = default;
  virtual PanelInputs panel_inputs() const = 0;
  virtual int32_t panel_width() const { return kPanelWidth<T>; }
  virtual int64_t panel_scratch() const { return 0; }  // elements
  virtual int64_t row_scratch() const { return 0; }
  // Rows from which on the batch form is quicker: it always computes a whole panel.
  virtual int64_t one_row_below() const = 0;
  virtual void run_panel(const T* panel, T* scratch, Sink<T>& sink) const = 0;
  virtual void run_row(const T* x, T* scratch, T* phases) const = 0;
  virtual int64_t n_bytes() const = 0;
};

// From the arrays of a map that was checked to the layouts that the kernels read.
template <class T>
std::unique_ptr<Structure<T>> pack(const DenseMap&, const Outputs&, const KernelTable<T>&);
template <class T>
std::unique_ptr<Structure<T>> pack(const MaskedMap&, const Outputs&, const KernelTable<T>&);
template <class T>
std::unique_ptr<Structure<T>> pack(const FastfoodMap&, const Outputs&, const KernelTable<T>&);

// Masks that several projections share, and masks of their own.
template <class T>
std::unique_ptr<Structure<T>> pack_shared(const MaskedMap&, const Outputs&, const KernelTable<T>&);
template <class T>
std::unique_ptr<Structure<T>> pack_chunked(const MaskedMap&, const Outputs&, const KernelTable<T>&);

template <class T, class U>
Buffer<T> copy_of(const U* source, int64_t n) {
  Buffer<T> copy(n);
  std::transform(source, source + n, copy.data(), [](U x) { return static_cast<T>(x); });
  return copy;
}
template <class T, class U>
Buffer<T> copy_of(std::span<const U> source) {
  return copy_of<T>(source.data(), static_cast<int64_t>(source.size()));
}

}  // namespace cerf
