// Samples in and out: rows of X to transposed panels, and single rows.
#pragma once

#include "kernels/vector.h"

namespace cerf::CERF_LEVEL {

// Sums x * 0, which is NaN as soon as one x is NaN or infinite; four sums hide the latency.
template <class T>
struct FiniteCheck {
  static constexpr int n_sums = 4;
  Vec<T, kNarrowBytes> vector_sums[n_sums]{};
  T sum = 0;
  CERF_INLINE void see(FiniteCheck& c, int slot, Vec<T, kNarrowBytes> x) {
    c.vector_sums[slot % n_sums] += x * T(0);
  }
  CERF_INLINE void see(FiniteCheck& c, T x) { c.sum += x * T(0); }
  bool passed() const {
    T total = sum;
    for (const Vec<T, kNarrowBytes>& v : vector_sums) total += sum_lanes<T, kNarrowBytes>(v);
    return total == total;
  }
};

// Inputs [begin, end) of rows with unit column stride. They are taken one cache line at a time over
// all samples, so that panel rows are written whole; square blocks are transposed in registers. The
// next lines of each row are prefetched: too many streams for the hardware to follow.
// kAll: input d is panel row d.
template <class T, bool kAll>
CERF_INLINE void pack_run(const Input<T>& X, const T* source, int32_t count, int32_t width,
                          int64_t begin, int64_t end, const int32_t* rows_of, T* panel,
                          FiniteCheck<T>& check) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  constexpr int line = 64 / static_cast<int>(sizeof(T));
  constexpr int64_t ahead = 4 * line;
  using V = Vec<T, kNarrowBytes>;
  const auto place = [=](int64_t d) { return panel + (kAll ? d : rows_of[d]) * width; };
  const int32_t whole_samples = count / w * w;
  const int64_t whole_end = begin + (end - begin) / line * line;
  for (int64_t d = begin; d < whole_end; d += line) {
    for (int32_t s = 0; s < whole_samples; s += w) {
      const T* rows = source + s * X.row_stride + d;
      CERF_UNROLL for (int i = 0; i < w; i++)
        __builtin_prefetch(rows + i * X.row_stride + ahead);
      CERF_UNROLL for (int p = 0; p < line; p += w) {
        V block[w];
        CERF_UNROLL for (int i = 0; i < w; i++) {
          block[i] = load_any<T, kNarrowBytes>(rows + i * X.row_stride + p);
          FiniteCheck<T>::see(check, i, block[i]);
        }
        transpose(block);
        CERF_UNROLL for (int i = 0; i < w; i++) {
          store<T, kNarrowBytes>(place(d + p + i) + s, block[i]);
        }
      }
    }
  }
  for (int32_t s = whole_end < end ? 0 : whole_samples; s < count; s++) {
    const T* row = source + s * X.row_stride;
    for (int64_t d = s < whole_samples ? whole_end : begin; d < end; d++) {
      FiniteCheck<T>::see(check, row[d]);
      place(d)[s] = row[d];
    }
  }
}

// Inputs [begin, end) that the map does not read must be finite too.
template <class T>
CERF_INLINE void see_run(const Input<T>& X, const T* source, int32_t count, int64_t begin,
                         int64_t end, FiniteCheck<T>& check) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  constexpr int n_sums = FiniteCheck<T>::n_sums;
  for (int32_t s = 0; s < count; s++) {
    const T* row = source + s * X.row_stride;
    int64_t d = begin;
    for (; d + n_sums * w <= end; d += n_sums * w) {
      CERF_UNROLL for (int i = 0; i < n_sums; i++) {
        FiniteCheck<T>::see(check, i, load_any<T, kNarrowBytes>(row + d + i * w));
      }
    }
    for (; d + w <= end; d += w) {
      FiniteCheck<T>::see(check, 0, load_any<T, kNarrowBytes>(row + d));
    }
    for (; d < end; d++) FiniteCheck<T>::see(check, row[d]);
  }
}

// Any strides; Fortran order (unit row stride) is the quick case.
template <class T>
CERF_INLINE void pack_columns(const Input<T>& X, const T* source, int32_t count, int32_t width,
                              const int32_t* rows_of, T* panel, FiniteCheck<T>& check) {
  for (int64_t d = 0; d < X.n_columns; d++) {
    const T* column = source + d * X.column_stride;
    T* const row = panel + (rows_of == nullptr ? d : rows_of[d]) * width;
    for (int32_t s = 0; s < count; s++) {
      const T x = column[s * X.row_stride];
      FiniteCheck<T>::see(check, x);
      row[s] = x;
    }
  }
}

template <class T>
bool pack_panel(const Input<T>& X, int64_t first, int32_t count, int32_t width,
                const PanelInputs& inputs, T* panel) {
  const T* source = X.data + first * X.row_stride;
  FiniteCheck<T> check;
  if (X.column_stride != 1) {
    pack_columns(X, source, count, width, inputs.rows, panel, check);
  } else if (inputs.rows == nullptr) {
    pack_run<T, true>(X, source, count, width, 0, X.n_columns, nullptr, panel, check);
  } else {
    for (int64_t r = 0; r < inputs.n_runs; r++) {
      const InputRun& run = inputs.runs[r];
      if (run.read) {
        pack_run<T, false>(X, source, count, width, run.begin, run.end, inputs.rows, panel, check);
      } else {
        see_run(X, source, count, run.begin, run.end, check);
      }
    }
  }
  if (count < width) {
    for (int64_t row = 0; row < inputs.n_rows; row++) {
      for (int32_t s = count; s < width; s++) panel[row * width + s] = T(0);
    }
  }
  return check.passed();
}

template <class T>
bool copy_row(const Input<T>& X, int64_t row, T* x) {
  const T* source = X.data + row * X.row_stride;
  FiniteCheck<T> check;
  int64_t d = 0;
  if (X.column_stride == 1) {
    constexpr int w = kLanes<T, kNarrowBytes>;
    for (; d + w <= X.n_columns; d += w) {
      const Vec<T, kNarrowBytes> v = load_any<T, kNarrowBytes>(source + d);
      FiniteCheck<T>::see(check, static_cast<int>(d / w), v);
      store_any<T, kNarrowBytes>(x + d, v);
    }
  }
  for (; d < X.n_columns; d++) {
    x[d] = source[d * X.column_stride];
    FiniteCheck<T>::see(check, x[d]);
  }
  return check.passed();
}

}  // namespace cerf::CERF_LEVEL
