// Cosine and sine of a phase in turns: cos(2 pi t) and sin(2 pi t).
//
// r = t - round(t) is exact, so large phases lose nothing beyond their own rounding. Then
//   cos(2 pi r) = sin(2 pi q),  q = 1/4 - |r|,  |q| <= 1/4,
// by an odd polynomial in q: 5 terms for float, 8 for double (coefficients: cpp/tools).
// Absolute error for |t| <= 1000: float 3e-7, double 2e-15 (tests/native/test_cosine.py).
// From 2^22 (2^51) turns on a phase has no fraction to speak of: it counts as whole turns, which
// keeps the result in [-1, 1]. -ffast-math would delete the rounding: it is never used.
#pragma once

#include "kernels/cosine_coefficients.h"
#include "kernels/vector.h"

namespace cerf::CERF_LEVEL {

template <class T>
struct Rounding;  // adding and taking away 1.5 * 2^mantissa rounds to the nearest integer
template <>
struct Rounding<float> {
  static constexpr float magic = 12582912.0f, limit = 4194304.0f;
};
template <>
struct Rounding<double> {
  static constexpr double magic = 6755399441055744.0, limit = 2251799813685248.0;
};

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

// t - round(t), in [-1/2, 1/2]; 0 beyond the limit.
template <class T, int B>
CERF_INLINE Vec<T, B> turn_fraction(Vec<T, B> t) {
  const Vec<T, B> magic = broadcast<T, B>(Rounding<T>::magic);
  const Vec<T, B> whole = (t + magic) - magic;
  const Vec<T, B> fraction = t - whole;
  return magnitude<T, B>(t) < broadcast<T, B>(Rounding<T>::limit) ? fraction : Vec<T, B>{};
}

template <class T, int B>
CERF_INLINE Vec<T, B> cosine_of_turns(Vec<T, B> t) {
  const Vec<T, B> r = turn_fraction<T, B>(t);
  return quarter_sine<T, B>(broadcast<T, B>(T(0.25)) - magnitude<T, B>(r));
}

// Both from one reduction: sin(2 pi r) has the sign of r and the size min(|r|, 1/2 - |r|).
template <class T, int B>
CERF_INLINE void cosine_and_sine(Vec<T, B> t, Vec<T, B>& cosine, Vec<T, B>& sine) {
  const Vec<T, B> r = turn_fraction<T, B>(t);
  const Vec<T, B> size = magnitude<T, B>(r);
  const Vec<T, B> mirrored = broadcast<T, B>(T(0.5)) - size;
  const Vec<T, B> folded = size < mirrored ? size : mirrored;
  cosine = quarter_sine<T, B>(broadcast<T, B>(T(0.25)) - size);
  sine = with_sign_of<T, B>(quarter_sine<T, B>(folded), r);
}

}  // namespace cerf::CERF_LEVEL
