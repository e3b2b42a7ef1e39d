// Walsh-Hadamard transform and Fastfood blocks (Eq. 36, Prop. 5).
//
// NumPy, for one block: row_scale * ((gaussian_diag * ((signs * x) @ H)[permutation]) @ H)[kept].
// Batch form: one narrow vector of samples per row of the buffer, so that no shuffle is needed;
// radix-8 stages; signs and permutation are folded into the first stage of each transform.
#pragma once

#include "kernels/sink.h"

namespace cerf::CERF_LEVEL {

template <class T>
using Narrow = Vec<T, kNarrowBytes>;

// Walsh-Hadamard transform of R vectors, elementwise, in registers.
template <class T, int R>
CERF_INLINE void butterfly(Narrow<T>* a) {
  CERF_UNROLL for (int h = 1; h < R; h *= 2) {
    CERF_UNROLL for (int i = 0; i < R; i += 2 * h) {
      CERF_UNROLL for (int j = i; j < i + h; j++) {
        const Narrow<T> x = a[j], y = a[j + h];
        a[j] = x + y;
        a[j + h] = x - y;
      }
    }
  }
}

// One stage of radix R over `n` rows of a narrow vector each, rows `stride` apart.
template <class T, int R>
CERF_INLINE void stage(T* buffer, int32_t n, int32_t stride) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  for (int32_t i = 0; i < n; i += R * stride) {
    for (int32_t j = i; j < i + stride; j++) {
      Narrow<T> a[R];
      T* row = buffer + static_cast<int64_t>(j) * w;
      CERF_UNROLL for (int r = 0; r < R; r++) {
        a[r] = load<T, kNarrowBytes>(row + static_cast<int64_t>(r) * stride * w);
      }
      butterfly<T, R>(a);
      CERF_UNROLL for (int r = 0; r < R; r++) {
        store<T, kNarrowBytes>(row + static_cast<int64_t>(r) * stride * w, a[r]);
      }
    }
  }
}

// Largest radix whose butterfly stays in registers: AVX-512 has 32 of them, the rest 16.
constexpr int kRadix = kVectorBytes == 64 ? 16 : 8;

// All stages from `stride` on, in as few passes over the buffer as the radix allows.
template <class T>
CERF_INLINE void remaining_stages(T* buffer, int32_t n, int32_t stride) {
  while (stride < n) {
    const int32_t left = n / stride;
    if (kRadix == 16 && (left == 16 || left >= 128)) {
      stage<T, 16>(buffer, n, stride);
      stride *= 16;
    } else if (left == 8 || left > 16) {
      stage<T, 8>(buffer, n, stride);
      stride *= 8;
    } else if (left >= 4) {
      stage<T, 4>(buffer, n, stride);
      stride *= 4;
    } else {
      stage<T, 2>(buffer, n, stride);
      stride *= 2;
    }
  }
}

// Transform of diag * source[permutation] (permutation null: in order, zero from n_source on).
template <class T, int R>
CERF_INLINE void first_stage(T* buffer, const T* source, const int32_t* permutation, const T* diag,
                             int32_t n, int32_t n_source) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  for (int32_t i = 0; i < n; i += R) {
    Narrow<T> a[R];
    CERF_UNROLL for (int r = 0; r < R; r++) {
      if (permutation != nullptr) {
        a[r] = load<T, kNarrowBytes>(source + static_cast<int64_t>(permutation[i + r]) * w) *
               broadcast<T, kNarrowBytes>(diag[i + r]);
      } else if (i + r < n_source) {
        a[r] = load<T, kNarrowBytes>(source + static_cast<int64_t>(i + r) * w) *
               broadcast<T, kNarrowBytes>(diag[i + r]);
      } else {
        a[r] = Narrow<T>{};
      }
    }
    butterfly<T, R>(a);
    CERF_UNROLL for (int r = 0; r < R; r++) {
      store<T, kNarrowBytes>(buffer + static_cast<int64_t>(i + r) * w, a[r]);
    }
  }
}

template <class T>
CERF_INLINE void transform_rows(T* buffer, const T* source, const int32_t* permutation,
                                const T* diag, int32_t n, int32_t n_source) {
  if (kRadix == 16 && n >= 16 && n != 64) {
    first_stage<T, kRadix>(buffer, source, permutation, diag, n, n_source);
    remaining_stages<T>(buffer, n, kRadix);
  } else if (n >= 8) {
    first_stage<T, 8>(buffer, source, permutation, diag, n, n_source);
    remaining_stages<T>(buffer, n, 8);
  } else if (n == 4) {
    first_stage<T, 4>(buffer, source, permutation, diag, n, n_source);
  } else {
    first_stage<T, 2>(buffer, source, permutation, diag, n, n_source);
  }
}

// Kept rows of one transformed block to the sink, a few at a time: room is made once for all.
template <class T>
CERF_INLINE void emit_block(const FastfoodLayout<T>& map, int32_t j, const T* block,
                            Narrow<T> centre, Sink<T>& sink) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  constexpr int64_t batch = 16;
  const int64_t end = map.kept_pointers[j + 1];
  for (int64_t k = map.kept_pointers[j]; k < end; k += batch) {
    const int32_t n = static_cast<int32_t>(end - k < batch ? end - k : batch);
    reserve(sink, n);
    for (int32_t i = 0; i < n; i++) {
      const Narrow<T> row =
          load<T, kNarrowBytes>(block + static_cast<int64_t>(map.kept_rows[k + i]) * w);
      const Narrow<T> phase = row * broadcast<T, kNarrowBytes>(map.row_scale[k + i]) +
                              (broadcast<T, kNarrowBytes>(map.offsets[k + i]) + centre);
      emit<T, 1, kNarrowBytes>(sink, i, 0, sink.amplitudes[k + i], &phase);
    }
    advance(sink, n);
  }
}

// Scratch: two buffers of `padded` narrow vectors.
template <class T>
void fastfood_panel(const FastfoodLayout<T>& map, const T* panel, T* scratch, Sink<T>& sink) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  const int32_t d = map.padded;
  T* mixed = scratch;
  T* block = scratch + static_cast<int64_t>(d) * w;
  for (int32_t j = 0; j < map.n_blocks; j++) {
    const int64_t at = static_cast<int64_t>(j) * d;
    if (j == 0 || !map.shared_signs) {
      transform_rows<T>(mixed, panel, nullptr, map.signs + (map.shared_signs ? 0 : at), d,
                        map.n_inputs);
    }
    transform_rows<T>(block, mixed, map.permutation + at, map.gaussian_diag + at, d, d);
    Narrow<T> centre{};
    if (map.centres != nullptr) {
      const T* weights = map.centres + static_cast<int64_t>(j) * map.n_inputs;
      for (int32_t i = 0; i < map.n_inputs; i++) {
        centre += broadcast<T, kNarrowBytes>(weights[i]) *
                  load<T, kNarrowBytes>(panel + static_cast<int64_t>(i) * w);
      }
    }
    emit_block<T>(map, j, block, centre, sink);
  }
  flush(sink);
}

// Transform inside one vector by butterflies with a swapped copy.
CERF_INLINE Vec<float, 32> transform_lanes(Vec<float, 32> a) {
  Vec<float, 32> b = CERF_SHUFFLE(a, a, 1, 0, 3, 2, 5, 4, 7, 6);
  a = CERF_SHUFFLE(a + b, b - a, 0, 9, 2, 11, 4, 13, 6, 15);
  b = CERF_SHUFFLE(a, a, 2, 3, 0, 1, 6, 7, 4, 5);
  a = CERF_SHUFFLE(a + b, b - a, 0, 1, 10, 11, 4, 5, 14, 15);
  b = CERF_SHUFFLE(a, a, 4, 5, 6, 7, 0, 1, 2, 3);
  return CERF_SHUFFLE(a + b, b - a, 0, 1, 2, 3, 12, 13, 14, 15);
}
CERF_INLINE Vec<double, 32> transform_lanes(Vec<double, 32> a) {
  Vec<double, 32> b = CERF_SHUFFLE(a, a, 1, 0, 3, 2);
  a = CERF_SHUFFLE(a + b, b - a, 0, 5, 2, 7);
  b = CERF_SHUFFLE(a, a, 2, 3, 0, 1);
  return CERF_SHUFFLE(a + b, b - a, 0, 1, 6, 7);
}
CERF_INLINE Vec<float, 16> transform_lanes(Vec<float, 16> a) {
  Vec<float, 16> b = CERF_SHUFFLE(a, a, 1, 0, 3, 2);
  a = CERF_SHUFFLE(a + b, b - a, 0, 5, 2, 7);
  b = CERF_SHUFFLE(a, a, 2, 3, 0, 1);
  return CERF_SHUFFLE(a + b, b - a, 0, 1, 6, 7);
}
CERF_INLINE Vec<double, 16> transform_lanes(Vec<double, 16> a) {
  const Vec<double, 16> b = CERF_SHUFFLE(a, a, 1, 0);
  return CERF_SHUFFLE(a + b, b - a, 0, 3);
}

// In place, one row of n values (a power of two), 64-byte aligned.
template <class T>
void walsh_hadamard(T* row, int32_t n) {
  constexpr int w = kLanes<T, kNarrowBytes>;
  if (n < w) {
    for (int32_t h = 1; h < n; h *= 2) {
      for (int32_t i = 0; i < n; i += 2 * h) {
        for (int32_t j = i; j < i + h; j++) {
          const T x = row[j], y = row[j + h];
          row[j] = x + y;
          row[j + h] = x - y;
        }
      }
    }
    return;
  }
  for (int32_t i = 0; i < n; i += w) {
    store<T, kNarrowBytes>(row + i, transform_lanes(load<T, kNarrowBytes>(row + i)));
  }
  remaining_stages<T>(row, n / w, 1);
}

// Scratch: two rows of `padded` values.
template <class T>
void fastfood_row(const FastfoodLayout<T>& map, const T* x, T* scratch, T* phases) {
  const int32_t d = map.padded;
  T* mixed = scratch;
  T* block = scratch + d;
  for (int32_t j = 0; j < map.n_blocks; j++) {
    const int64_t at = static_cast<int64_t>(j) * d;
    if (j == 0 || !map.shared_signs) {
      const T* signs = map.signs + (map.shared_signs ? 0 : at);
      for (int32_t i = 0; i < map.n_inputs; i++) mixed[i] = x[i] * signs[i];
      for (int32_t i = map.n_inputs; i < d; i++) mixed[i] = T(0);
      walsh_hadamard(mixed, d);
    }
    const int32_t* permutation = map.permutation + at;
    const T* diag = map.gaussian_diag + at;
    for (int32_t i = 0; i < d; i++) block[i] = mixed[permutation[i]] * diag[i];
    walsh_hadamard(block, d);
    T centre = 0;
    if (map.centres != nullptr) {
      const T* weights = map.centres + static_cast<int64_t>(j) * map.n_inputs;
      for (int32_t i = 0; i < map.n_inputs; i++) centre += weights[i] * x[i];
    }
    for (int64_t k = map.kept_pointers[j]; k < map.kept_pointers[j + 1]; k++) {
      phases[k] = block[map.kept_rows[k]] * map.row_scale[k] + centre;
    }
  }
}

}  // namespace cerf::CERF_LEVEL
