// Batch form of independent masks.
//
// NumPy: amplitudes * cos(2 pi (X @ weights + offsets)) with a sparse weight matrix.
// A panel is larger than the first-level cache, so projections visit it chunk by chunk and keep
// their partial sums outside; F projections x V vectors of samples are in flight.
#pragma once

#include "kernels/sink.h"

namespace cerf::CERF_LEVEL {

template <class T>
struct ChunkCursor {
  const uint16_t* rows;
  const T* weights;
  int64_t count;
};

template <class T, int V>
CERF_INLINE void add_row(Vec<T>* sum, const T* panel, const ChunkCursor<T>& at, int64_t i) {
  const T* x = panel + static_cast<int64_t>(at.rows[i]) * kPanelWidth<T>;
  const Vec<T> b = broadcast<T>(at.weights[i]);
  CERF_UNROLL for (int v = 0; v < V; v++)
    sum[v] += b * load<T>(x + v * kLanes<T>);
}

template <class T, int F, int V>
CERF_INLINE void chunk_step(const ChunkedLayout<T>& map, int32_t chunk, int32_t first,
                            const T* panel, T* partial, Sink<T>& sink) {
  constexpr int w = kLanes<T>;
  const bool starts = chunk == 0, ends = chunk + 1 == map.n_chunks;
  const int64_t* pointers = map.pointers + static_cast<int64_t>(chunk) * (map.n_projections + 1);
  ChunkCursor<T> at[F];
  int64_t common = INT64_MAX;
  CERF_UNROLL for (int f = 0; f < F; f++) {
    const int64_t begin = pointers[first + f];
    at[f] = {map.rows + begin, map.weights + begin, pointers[first + f + 1] - begin};
    if (at[f].count < common) common = at[f].count;
  }
  if (ends) reserve(sink, F);
  for (int32_t s = 0; s < kPanelWidth<T>; s += V * w) {
    Vec<T> sum[F][V];
    T* saved = partial + static_cast<int64_t>(first) * kPanelWidth<T> + s;
    CERF_UNROLL for (int f = 0; f < F; f++) {
      CERF_UNROLL for (int v = 0; v < V; v++) {
        sum[f][v] = starts ? broadcast<T>(map.offsets[first + f])
                           : load<T>(saved + f * kPanelWidth<T> + v * w);
      }
    }
    for (int64_t i = 0; i < common; i++) {
      CERF_UNROLL for (int f = 0; f < F; f++)
        add_row<T, V>(sum[f], panel + s, at[f], i);
    }
    CERF_UNROLL for (int f = 0; f < F; f++) {
      for (int64_t i = common; i < at[f].count; i++) add_row<T, V>(sum[f], panel + s, at[f], i);
    }
    CERF_UNROLL for (int f = 0; f < F; f++) {
      if (ends) {
        emit<T, V, kVectorBytes>(sink, f, s, sink.amplitudes[first + f], sum[f]);
      } else {
        CERF_UNROLL for (int v = 0; v < V; v++) {
          store<T>(saved + f * kPanelWidth<T> + v * w, sum[f][v]);
        }
      }
    }
  }
  if (ends) advance(sink, F);
}

template <class T>
void chunked_panel(const ChunkedLayout<T>& map, const T* panel, T* partial, Sink<T>& sink) {
  constexpr int F = kVectorBytes == 64 ? 2 : 1;
  constexpr int V = kVectorBytes == 64 ? 4 : 8;
  for (int32_t chunk = 0; chunk < map.n_chunks; chunk++) {
    int32_t k = 0;
    for (; k + F <= map.n_projections; k += F) {
      chunk_step<T, F, V>(map, chunk, k, panel, partial, sink);
    }
    for (; k < map.n_projections; k++) chunk_step<T, 1, V>(map, chunk, k, panel, partial, sink);
  }
  flush(sink);
}

}  // namespace cerf::CERF_LEVEL
