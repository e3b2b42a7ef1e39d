// Cosine and sine of a phase in turns: cos(2 pi t) and sin(2 pi t).
//
// r = t - round(t) is exact, so large phases lose nothing beyond their own rounding. Then
//   cos(2 pi r) = sin(2 pi q),  q = 1/4 - |r|,  |q| <= 1/4,
// by an odd polynomial in q: 5 terms for float, 8 for double (coefficients: cpp/tools).
// Absolute error for |t| <= 1000: float 3e-7, double 2e-15 (tests/native/test_cosine.py).
// From 2^22 (2^51) turns on, where a phase has hardly a fraction left, and for phases that
// overflowed to infinity or NaN, only |result| <= 1 is promised.
// -ffast-math would delete the rounding: it is never used.
#pragma once

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "kernels/cosine_coefficients.h"
#include "kernels/vector.h"

namespace cerf::CERF_LEVEL {

template <class T, int B>
CERF_INLINE Vec<T, B> magnitude(Vec<T, B> x) {
  typedef typename BitsOf<T>::type I;
  const IntVec<T, B> keep = IntVec<T, B>{} + static_cast<I>(~(I(1) << (sizeof(I) * 8 - 1)));
  return reinterpret_cast<Vec<T, B>>(reinterpret_cast<IntVec<T, B>>(x) & keep);
}

template <class T, int B>
CERF_INLINE Vec<T, B> with_sign_of(Vec<T, B> size, Vec<T, B> sign) {
  typedef typename BitsOf<T>::type I;
  const IntVec<T, B> bit = IntVec<T, B>{} + static_cast<I>(I(1) << (sizeof(I) * 8 - 1));
  return reinterpret_cast<Vec<T, B>>(reinterpret_cast<IntVec<T, B>>(size) |
                                     (reinterpret_cast<IntVec<T, B>>(sign) & bit));
}

// sin(2 pi q) for |q| <= 1/4
template <class T, int B>
CERF_INLINE Vec<T, B> quarter_sine(Vec<T, B> q) {
  constexpr int n = SineCoefficients<T>::n_terms;
  const Vec<T, B> square = q * q;
  Vec<T, B> p = broadcast<T, B>(SineCoefficients<T>::terms[n - 1]);
  CERF_UNROLL for (int i = n - 2; i >= 0; i--) {
    p = p * square + broadcast<T, B>(SineCoefficients<T>::terms[i]);
  }
  return p * q;
}

// turn_fraction: t - round(t), in [-1/2, 1/2] or, beyond the limit, anything.
// at_most: min(a, b), and b if a is NaN. One instruction, which GCC does not find by itself.
#if defined(__AVX512DQ__)
constexpr int kNearest = 8;  // no fraction bits kept, to nearest, no exceptions
#define CERF_REDUCTION(T, bytes, prefix, suffix)                        \
  CERF_INLINE Vec<T, bytes> turn_fraction(Vec<T, bytes> t) {            \
    return prefix##_reduce_##suffix(t, kNearest);                       \
  }                                                                     \
  CERF_INLINE Vec<T, bytes> at_most(Vec<T, bytes> a, Vec<T, bytes> b) { \
    return prefix##_min_##suffix(a, b);                                 \
  }
CERF_REDUCTION(float, 64, _mm512, ps)
CERF_REDUCTION(double, 64, _mm512, pd)
#elif defined(__AVX__)
constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
#define CERF_REDUCTION(T, bytes, prefix, suffix)                        \
  CERF_INLINE Vec<T, bytes> turn_fraction(Vec<T, bytes> t) {            \
    return t - prefix##_round_##suffix(t, kNearest);                    \
  }                                                                     \
  CERF_INLINE Vec<T, bytes> at_most(Vec<T, bytes> a, Vec<T, bytes> b) { \
    return prefix##_min_##suffix(a, b);                                 \
  }
#endif
#if defined(__AVX__)
CERF_REDUCTION(float, 32, _mm256, ps)
CERF_REDUCTION(double, 32, _mm256, pd)
#undef CERF_REDUCTION
#else
// Adding and taking away 1.5 * 2^mantissa rounds to the nearest integer.
template <class V>
CERF_INLINE V turn_fraction(V t) {
  const V magic =
      V{} + static_cast<decltype(t[0] + t[0])>(sizeof(t[0]) == 4 ? 12582912.0 : 6755399441055744.0);
  return t - ((t + magic) - magic);
}
template <class V>
CERF_INLINE V at_most(V a, V b) {
  return a < b ? a : b;
}
#endif

template <class T, int B>
CERF_INLINE Vec<T, B> cosine_of_turns(Vec<T, B> t) {
  const Vec<T, B> size = at_most(magnitude<T, B>(turn_fraction(t)), broadcast<T, B>(T(0.5)));
  return quarter_sine<T, B>(broadcast<T, B>(T(0.25)) - size);
}

// Both from one reduction: sin(2 pi r) has the sign of r and the size min(|r|, 1/2 - |r|).
template <class T, int B>
CERF_INLINE void cosine_and_sine(Vec<T, B> t, Vec<T, B>& cosine, Vec<T, B>& sine) {
  const Vec<T, B> half = broadcast<T, B>(T(0.5));
  const Vec<T, B> r = turn_fraction(t);
  const Vec<T, B> size = at_most(magnitude<T, B>(r), half);
  cosine = quarter_sine<T, B>(broadcast<T, B>(T(0.25)) - size);
  sine = with_sign_of<T, B>(quarter_sine<T, B>(at_most(size, half - size)), r);
}

}  // namespace cerf::CERF_LEVEL
