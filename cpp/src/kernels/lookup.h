// Numbers of a small table by their indices, one for each lane of a vector.
//
// NumPy: table[indices]. Permutations of registers give the number of all lanes at once, where a
// gather and scalar code take as many loads as there are lanes; the numbers are the same.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/vector.h"

namespace cerf::CERF_LEVEL {

// The most registers a table is kept in: more, and a gather is as quick.
#if defined(__AVX512F__)
template <class T>
constexpr int kTableRegisters = 16;
#elif defined(__AVX2__)
template <class T>
constexpr int kTableRegisters = sizeof(T) == 4 ? 8 : 0;
#else
template <class T>
constexpr int kTableRegisters = 0;
#endif

// Indices of one vector, in lanes as wide as the numbers, and the number of a lane of R registers.
#if defined(__AVX512F__)
CERF_INLINE __m512i wide_indices(const int32_t* at, float) {
  return _mm512_loadu_si512(at);
}
CERF_INLINE __m512i wide_indices(const int32_t* at, double) {
  return _mm512_cvtepi32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}
CERF_INLINE Vec<float, 64> first_numbers(const float* table, int32_t n) {
  const uint32_t lanes = n >= 16 ? 0xffffu : (1u << (n > 0 ? n : 0)) - 1u;
  return (Vec<float, 64>)_mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes), table);
}
CERF_INLINE Vec<double, 64> first_numbers(const double* table, int32_t n) {
  const uint32_t lanes = n >= 8 ? 0xffu : (1u << (n > 0 ? n : 0)) - 1u;
  return (Vec<double, 64>)_mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes), table);
}
template <int R>
CERF_INLINE Vec<float, 64> number_at(const Vec<float, 64>* numbers, __m512i at) {
  if constexpr (R == 1) {
    return (Vec<float, 64>)_mm512_permutexvar_ps(at, (__m512)numbers[0]);
  } else if constexpr (R == 2) {
    return (Vec<float, 64>)_mm512_permutex2var_ps((__m512)numbers[0], at, (__m512)numbers[1]);
  } else {
    const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(8 * R));
    return (Vec<float, 64>)_mm512_mask_blend_ps(upper, (__m512)number_at<R / 2>(numbers, at),
                                                (__m512)number_at<R / 2>(numbers + R / 2, at));
  }
}
template <int R>
CERF_INLINE Vec<double, 64> number_at(const Vec<double, 64>* numbers, __m512i at) {
  if constexpr (R == 1) {
    return (Vec<double, 64>)_mm512_permutexvar_pd(at, (__m512d)numbers[0]);
  } else if constexpr (R == 2) {
    return (Vec<double, 64>)_mm512_permutex2var_pd((__m512d)numbers[0], at, (__m512d)numbers[1]);
  } else {
    const __mmask8 upper = _mm512_test_epi64_mask(at, _mm512_set1_epi64(4 * R));
    return (Vec<double, 64>)_mm512_mask_blend_pd(upper, (__m512d)number_at<R / 2>(numbers, at),
                                                 (__m512d)number_at<R / 2>(numbers + R / 2, at));
  }
}
#elif defined(__AVX2__)
CERF_INLINE __m256i wide_indices(const int32_t* at, float) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
CERF_INLINE Vec<float, 32> first_numbers(const float* table, int32_t n) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lanes);
  return (Vec<float, 32>)_mm256_maskload_ps(table, mask);
}
template <int R>
CERF_INLINE Vec<float, 32> number_at(const Vec<float, 32>* numbers, __m256i at) {
  if constexpr (R == 1) {
    return (Vec<float, 32>)_mm256_permutevar8x32_ps((__m256)numbers[0], at);
  } else {
    // The bit that tells the halves apart becomes the sign, by which lanes are chosen.
    constexpr int bit = R == 2 ? 3 : R == 4 ? 4 : 5;
    const __m256 upper = (__m256)_mm256_slli_epi32(at, 31 - bit);
    return (Vec<float, 32>)_mm256_blendv_ps((__m256)number_at<R / 2>(numbers, at),
                                            (__m256)number_at<R / 2>(numbers + R / 2, at), upper);
  }
}
#endif

// The first n numbers of a table in R registers, or where they are if R is 0.
template <class T, int R>
struct Numbers {
  static_assert((R & (R - 1)) == 0 && R <= kTableRegisters<T>);
  Vec<T> numbers[R];

  CERF_INLINE_MEMBER Numbers(const T* table, int32_t n) {
    CERF_UNROLL for (int r = 0; r < R; r++) {
      const int32_t from = r * kLanes<T>;
      // A register past the end reads nothing, but its address must not lie outside the table.
      numbers[r] = first_numbers(from < n ? table + from : table, n - from);
    }
  }
  CERF_INLINE_MEMBER Vec<T> at(const int32_t* indices) const {
    return number_at<R>(numbers, wide_indices(indices, T()));
  }
};

template <class T>
struct Numbers<T, 0> {
  const T* table;

  CERF_INLINE_MEMBER Numbers(const T* table_, int32_t) : table(table_) {}
  CERF_INLINE_MEMBER Vec<T> at(const int32_t* indices) const {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
      return (Vec<T>)_mm512_i32gather_ps(_mm512_loadu_si512(indices), table, 4);
    } else {
      const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(indices));
      return (Vec<T>)_mm512_i32gather_pd(narrow, table, 8);
    }
#else
    Vec<T> found;
    CERF_UNROLL for (int i = 0; i < kLanes<T>; i++)
      found[i] = table[indices[i]];
    return found;
#endif
  }
};

// use.operator()<R>() with the fewest registers that hold n numbers; R = 0 if there are not enough.
template <class T, int R = 1, class Use>
CERF_INLINE void with_registers(int32_t n, const Use& use) {
  if constexpr (R > kTableRegisters<T>) {
    use.template operator()<0>();
  } else if (n <= R * kLanes<T>) {
    use.template operator()<R>();
  } else {
    with_registers<T, 2 * R>(n, use);
  }
}

}  // namespace cerf::CERF_LEVEL
