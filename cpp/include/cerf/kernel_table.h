// The functions that exist once per instruction-set level, and the choice between the levels.
#pragma once

#include "cerf/layout.h"

namespace cerf {

template <class T>
struct KernelTable {
  const char* level;
  int32_t lanes;           // elements in one vector register
  int32_t fastfood_width;  // samples in a Fastfood panel

  // panel[row of d * width + s] = X[first + s, d], zeros for s >= count. False if a value of X is
  // not finite, whether it is read or not.
  bool (*pack_panel)(const Input<T>& X, int64_t first, int32_t count, int32_t width,
                     const PanelInputs& inputs, T* panel);

  // Batch form: one panel of samples through the whole map into the sink.
  void (*shared_panel)(const SharedLayout<T>&, const T* panel, Sink<T>&);
  void (*chunked_panel)(const ChunkedLayout<T>&, const T* panel, T* partial, Sink<T>&);
  void (*fastfood_panel)(const FastfoodLayout<T>&, const T* panel, T* scratch, Sink<T>&);

  // scores[o * width + s] = linear part of score o of sample s; `rows` as in PanelInputs.
  void (*linear_panel)(const LinearLayout<T>&, const int32_t* rows, const T* panel, int32_t width,
                       T* scores);

  // One-row form: phases of one sample, without the offsets.
  bool (*copy_row)(const Input<T>& X, int64_t row, T* x);
  void (*shared_row)(const RowSharedLayout<T>&, const T* x, T* phases);
  void (*grouped_row)(const RowGroupedLayout<T>&, const T* x, T* phases);
  void (*fastfood_row)(const FastfoodLayout<T>&, const T* x, T* scratch, T* phases);
  // out = amplitude * cos(2 pi (phase + offset)), and the sine beside it if paired; or
  // amplitude * max(phase + offset, 0) if relu.
  void (*finish_row)(const T* phases, const T* offsets, const T* amplitudes, int32_t n_projections,
                     int32_t n_outputs, bool paired, bool relu, T* out);
  T (*dot)(const T* a, const T* b, int32_t n);
  // sums[o] = sum over the tables of the entry o in the row that the phase names; `places` is
  // scratch of n_tables + kTablePadding, and so long are the phases.
  void (*table_row)(const TableLayout<T>&, const T* phases, int32_t* places, T* sums);
  void (*linear_row)(const LinearLayout<T>&, const T* x, T* scores);

  // For tests and for the benchmark.
  void (*cosine)(const T* phases, T* out, int64_t n);
  void (*sine)(const T* phases, T* out, int64_t n);
  void (*walsh_hadamard)(T* row, int32_t n);
  double (*fma_loop)(int64_t n_rounds);  // flops of one round of independent multiply-adds
};

// Tables of the levels in this build, worst first; `n_levels` counts those this CPU can run.
template <class T>
const KernelTable<T>* kernel_table(const char* level);  // null if unknown or not runnable
int n_levels();
const char* level_name(int index);

}  // namespace cerf
