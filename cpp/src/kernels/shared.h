// Batch form of dense maps and of masks shared by several projections.
//
// NumPy: features of the phases X[:, rows] @ weights + offsets, for the rows of each step.
// F projections x V vectors of samples stay in registers; each panel row is loaded once for F
// projections and each weight once for V vectors.
#pragma once

#include "kernels/sink.h"

namespace cerf::CERF_LEVEL {

template <class T, int F, int V, bool kDense>
CERF_INLINE void accumulate_step(Vec<T> (&sum)[F][V], const T* panel, const uint32_t* rows,
                                 const T* weights, int32_t n_rows) {
  constexpr int w = kLanes<T>;
  for (int32_t i = 0; i < n_rows; i++) {
    const T* x;
    if (kDense) {
      x = panel + static_cast<int64_t>(i) * kPanelWidth<T>;
    } else {
      const char* base = reinterpret_cast<const char*>(panel);
      x = reinterpret_cast<const T*>(base + rows[i]);
      const char* later = base + rows[i + kPrefetchRows];
      CERF_UNROLL for (int byte = 0; byte < V * kVectorBytes; byte += 64) {
        __builtin_prefetch(later + byte);
      }
    }
    Vec<T> inputs[V];
    CERF_UNROLL for (int v = 0; v < V; v++)
      inputs[v] = load<T>(x + v * w);
    CERF_UNROLL for (int f = 0; f < F; f++) {
      const Vec<T> b = broadcast<T>(weights[f]);
      CERF_UNROLL for (int v = 0; v < V; v++)
        sum[f][v] += b * inputs[v];
    }
    weights += F;
  }
}

template <class T, int F, int V, bool kDense>
void shared_step(const SharedLayout<T>& map, const Step& step, const T* panel, Sink<T>& sink) {
  for (int32_t s = 0; s < kPanelWidth<T>; s += V * kLanes<T>) {
    Vec<T> sum[F][V];
    CERF_UNROLL for (int f = 0; f < F; f++) {
      CERF_UNROLL for (int v = 0; v < V; v++) {
        sum[f][v] = broadcast<T>(map.offsets[step.first + f]);
      }
    }
    accumulate_step<T, F, V, kDense>(sum, panel + s, kDense ? nullptr : map.rows + step.row_begin,
                                     map.weights + step.weight_begin, step.n_rows);
    CERF_UNROLL for (int f = 0; f < F; f++) {
      emit<T, V, kVectorBytes>(sink, f, s, sink.amplitudes[step.first + f], sum[f]);
    }
  }
}

template <class T, bool kDense>
void shared_steps(const SharedLayout<T>& map, const T* panel, Sink<T>& sink) {
  // 32 registers hold 6 x 4 sums, 16 hold 6 x 2; fewer projections take more vectors instead.
  constexpr int wide = kVectorBytes == 64 ? 4 : 2;
  constexpr int few = 4;
  for (int64_t i = 0; i < map.n_steps; i++) {
    const Step& step = map.steps[i];
    reserve(sink, step.count);
    switch (step.count) {
      case 6: shared_step<T, 6, wide, kDense>(map, step, panel, sink); break;
      case 5: shared_step<T, 5, wide, kDense>(map, step, panel, sink); break;
      case 4: shared_step<T, 4, wide, kDense>(map, step, panel, sink); break;
      case 3: shared_step<T, 3, few, kDense>(map, step, panel, sink); break;
      case 2: shared_step<T, 2, few, kDense>(map, step, panel, sink); break;
      default: shared_step<T, 1, few, kDense>(map, step, panel, sink); break;
    }
    advance(sink, step.count);
  }
  flush(sink);
}

template <class T>
void shared_panel(const SharedLayout<T>& map, const T* panel, Sink<T>& sink) {
  if (map.rows == nullptr) {
    shared_steps<T, true>(map, panel, sink);
  } else {
    shared_steps<T, false>(map, panel, sink);
  }
}

}  // namespace cerf::CERF_LEVEL
