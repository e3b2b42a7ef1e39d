// From phases to results: cosine or positive part, amplitude, and either whole cache lines of the
// output or partial scores; or from phases to rows of tables, and their sums.
#pragma once

#include "kernels/cosine.h"
#include "kernels/relu.h"
#include "kernels/tables.h"
#include "kernels/vector.h"

namespace cerf::CERF_LEVEL {

// Transposes the filled rows into the output.
template <class T, bool kStream>
void store_rows(const Sink<T>& sink, int32_t n_rows) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  constexpr int line = 64 / static_cast<int>(sizeof(T));
  constexpr int parts = line / w;
  using V = Vec<T, kNarrowBytes>;
  T* const out = sink.out + sink.next_output;
  const int32_t whole_rows = n_rows / line * line;
  const int32_t whole_samples = sink.n_samples / w * w;
  for (int32_t r = 0; r < whole_rows; r += line) {
    for (int32_t s = 0; s < whole_samples; s += w) {
      V block[parts][w];
      CERF_UNROLL for (int p = 0; p < parts; p++) {
        CERF_UNROLL for (int i = 0; i < w; i++) {
          block[p][i] = load<T, kNarrowBytes>(sink.rows + (r + p * w + i) * sink.width + s);
        }
        transpose(block[p]);
      }
      CERF_UNROLL for (int i = 0; i < w; i++) {
        CERF_UNROLL for (int p = 0; p < parts; p++) {
          T* const place = out + (s + i) * sink.out_stride + r + p * w;
          if (kStream) {
            stream<T, kNarrowBytes>(place, block[p][i]);
          } else {
            store_any<T, kNarrowBytes>(place, block[p][i]);
          }
        }
      }
    }
  }
  for (int32_t s = 0; s < sink.n_samples; s++) {
    for (int32_t r = s < whole_samples ? whole_rows : 0; r < n_rows; r++) {
      out[s * sink.out_stride + r] = sink.rows[r * sink.width + s];
    }
  }
}

// scores[c] += sum over rows of coef[c, row] * row, for C scores and V vectors of samples at once.
template <class T, int C, int V, int B>
CERF_INLINE void add_scores(const Sink<T>& sink, int32_t n_rows, int32_t c, int32_t s) {
  constexpr int w = kLanes<T, B>;
  Vec<T, B> sum[C][V];
  const T* coef = sink.coef + static_cast<int64_t>(c) * sink.n_outputs + sink.next_output;
  T* scores = sink.scores + c * sink.width + s;
  CERF_UNROLL for (int i = 0; i < C; i++) {
    CERF_UNROLL for (int v = 0; v < V; v++)
      sum[i][v] = load<T, B>(scores + i * sink.width + v * w);
  }
  for (int32_t r = 0; r < n_rows; r++) {
    const T* row = sink.rows + r * sink.width + s;
    CERF_UNROLL for (int i = 0; i < C; i++) {
      const Vec<T, B> b = broadcast<T, B>(coef[static_cast<int64_t>(i) * sink.n_outputs + r]);
      CERF_UNROLL for (int v = 0; v < V; v++)
        sum[i][v] += b * load<T, B>(row + v * w);
    }
  }
  CERF_UNROLL for (int i = 0; i < C; i++) {
    CERF_UNROLL for (int v = 0; v < V; v++)
      store<T, B>(scores + i * sink.width + v * w, sum[i][v]);
  }
}

template <class T, int C, int V, int B>
void score_rows(const Sink<T>& sink, int32_t n_rows) {
  for (int32_t s = 0; s < sink.width; s += V * kLanes<T, B>) {
    int32_t c = 0;
    for (; c + C <= sink.n_scores; c += C) add_scores<T, C, V, B>(sink, n_rows, c, s);
    for (; c < sink.n_scores; c++) add_scores<T, 1, V, B>(sink, n_rows, c, s);
  }
}

// Hands on the first `n_rows` filled rows; the rest move to the front.
template <class T>
void pass_on(Sink<T>& sink, int32_t n_rows) {
  if (sink.tables != nullptr) {
    add_table_rows(sink, n_rows);
  } else if (sink.out == nullptr) {
    if (sink.width == kPanelWidth<T>) {
      score_rows<T, 4, kVectorBytes == 64 ? 4 : 2, kVectorBytes>(sink, n_rows);
    } else {
      score_rows<T, 8, 1, kNarrowBytes>(sink, n_rows);
    }
  } else if (sink.past_caches) {
    store_rows<T, true>(sink, n_rows);
  } else {
    store_rows<T, false>(sink, n_rows);
  }
  sink.next_output += n_rows;
  sink.filled -= n_rows;
  const int64_t row = sink.width;
  std::memmove(sink.rows, sink.rows + n_rows * row, size_t(sink.filled * row) * sizeof(T));
}

// Hands on what is left of a panel.
template <class T>
void flush(Sink<T>& sink) {
  // The last sine of an odd paired map is computed and dropped here.
  const int32_t n_left = sink.n_outputs - sink.next_output;
  if (sink.filled > n_left) sink.filled = n_left;
  pass_on(sink, sink.filled);
  if (sink.past_caches) fence_streams();
}

// Makes room for `n_projections` more. The output leaves in whole cache lines.
template <class T>
CERF_INLINE void reserve(Sink<T>& sink, int32_t n_projections) {
  constexpr int32_t line = 64 / static_cast<int32_t>(sizeof(T));
  const int32_t rows = sink.paired ? 2 * n_projections : n_projections;
  if (sink.filled + rows > sink.capacity) pass_on(sink, sink.filled / line * line);
}
template <class T>
CERF_INLINE void advance(Sink<T>& sink, int32_t n_projections) {
  sink.prefetch_due += sink.prefetch_bytes * n_projections;
  for (; sink.prefetch_due >= 64; sink.prefetch_due -= 64, sink.next_input += 64) {
    __builtin_prefetch(sink.next_input, 0, 2);
  }
  sink.filled += sink.paired ? 2 * n_projections : n_projections;
}

// Finishes V vectors of samples from `sample` on, of reserved projection `slot`.
template <class T, int V, int B>
CERF_INLINE void emit(const Sink<T>& sink, int32_t slot, int32_t sample, T amplitude,
                      const Vec<T, B>* phases) {
  constexpr int w = kLanes<T, B>;
  const Vec<T, B> a = broadcast<T, B>(amplitude);
  if (sink.paired) {
    T* row = sink.rows + (sink.filled + 2 * slot) * sink.width + sample;
    CERF_UNROLL for (int v = 0; v < V; v++) {
      Vec<T, B> cosine, sine;
      cosine_and_sine<T, B>(phases[v], cosine, sine);
      store<T, B>(row + v * w, cosine * a);
      store<T, B>(row + sink.width + v * w, sine * a);
    }
  } else if (sink.relu) {
    T* row = sink.rows + (sink.filled + slot) * sink.width + sample;
    CERF_UNROLL for (int v = 0; v < V; v++) {
      store<T, B>(row + v * w, positive_part<T, B>(phases[v]) * a);
    }
  } else if (sink.tables != nullptr) {
    int32_t* places = places_of_row(sink, sink.filled + slot) + sample;
    CERF_UNROLL for (int v = 0; v < V; v++) {
      store_places<T, B>(*sink.tables, phases[v], places + v * w);
    }
  } else {
    T* row = sink.rows + (sink.filled + slot) * sink.width + sample;
    CERF_UNROLL for (int v = 0; v < V; v++) {
      store<T, B>(row + v * w, cosine_of_turns<T, B>(phases[v]) * a);
    }
  }
}

}  // namespace cerf::CERF_LEVEL
