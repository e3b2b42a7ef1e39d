// Rows of X in panels, handed out to threads: the loop that all models share.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "cerf/buffer.h"
#include "cerf/kernel_table.h"
#include "cerf/threads.h"
#include "run_together.h"

namespace cerf {

// Panels that a thread takes at a time, and the rows below which a second thread saves no time.
constexpr int64_t kPanelsPerTurn = 4;
constexpr int64_t kRowsPerThread = 128;
// Rows of a sink. A step, of at most 32 rows, fits beside those of a cache line that is not
// complete yet.
constexpr int32_t kSinkRows = 48;

// Samples [first, first + count) of X, transposed.
template <class T>
struct Panel {
  const T* values;
  int64_t first;
  int32_t count;
  const char* next;  // X of the panel that this thread takes next, or null
  int64_t n_next_bytes;
};

// Threads for a call, by its rows and by the cap.
inline int threads_for(int64_t n_rows, int n_threads) {
  const int64_t most = std::min<int64_t>({n_threads, get_num_threads(), n_rows / kRowsPerThread});
  return static_cast<int>(std::max<int64_t>(1, most));
}

// Calls work(t, panel) for all panels of X, each on one of threads 0 <= t < n_threads. False as
// soon as a value is not finite. Panels form a fixed grid, whatever the number of threads.
template <class T, class Work>
bool for_each_panel(const Input<T>& X, const PanelInputs& inputs, int32_t width, int n_threads,
                    const KernelTable<T>& kernels, const Work& work) {
  const bool contiguous = X.column_stride == 1 && X.row_stride == X.n_columns;
  const int64_t n_panels = (X.n_rows + width - 1) / width;
  const int64_t turn = std::max<int64_t>(1, kPanelsPerTurn * kPanelWidth<T> / width);
  // All memory is taken before the first thread starts: running out of it is an exception here.
  std::vector<Buffer<T>> buffers;
  for (int t = 0; t < n_threads; t++) buffers.emplace_back((int64_t(inputs.n_rows) + 1) * width);
  std::atomic<int64_t> next{0};
  std::atomic<bool> finite{true};
  run_together(n_threads, [&](int t) {
    T* const values = buffers[size_t(t)].data();
    for (int64_t begin; finite && (begin = next.fetch_add(turn)) < n_panels;) {
      const int64_t end = std::min(begin + turn, n_panels);
      for (int64_t p = begin; p < end; p++) {
        const int64_t first = p * width;
        const int32_t count = static_cast<int32_t>(std::min<int64_t>(width, X.n_rows - first));
        if (!kernels.pack_panel(X, first, count, width, inputs, values)) {
          finite = false;
          return;
        }
        const bool ahead = contiguous && p + 1 < end;
        const T* following = ahead ? X.data + (first + width) * X.row_stride : nullptr;
        work(t, Panel<T>{.values = values,
                         .first = first,
                         .count = count,
                         .next = reinterpret_cast<const char*>(following),
                         .n_next_bytes = ahead ? width * X.n_columns * int64_t(sizeof(T)) : 0});
      }
    }
  });
  return finite;
}

// Has the next panel's rows brought closer while the projections of this one are computed.
template <class T>
void prefetch_next(const Panel<T>& panel, int32_t n_projections, Sink<T>& sink) {
  sink.next_input = panel.next;
  sink.prefetch_bytes = panel.n_next_bytes / n_projections;
}

}  // namespace cerf
