// Vector types of one instruction-set level, in GCC/Clang vector extensions.
//
// CERF_VECTOR_BYTES is the register size (16, 32 or 64) and CERF_LEVEL the namespace; both are
// given by the build. Everything is inlined into that namespace, so that no function compiled
// for a wide level can be linked into the path of a narrower CPU.
#pragma once

#include <cstdint>
#include <cstring>

#include "cerf/layout.h"

#define CERF_INLINE static inline __attribute__((always_inline))
#define CERF_INLINE_MEMBER inline __attribute__((always_inline))
#define CERF_UNROLL _Pragma("GCC unroll 16")
#if defined(__GNUC__) && !defined(__clang__)
#define CERF_SCALAR __attribute__((optimize("no-tree-slp-vectorize", "no-tree-vectorize")))
#else
#define CERF_SCALAR
#endif

namespace cerf::CERF_LEVEL {

constexpr int kVectorBytes = CERF_VECTOR_BYTES;
// Transposes and Fastfood run on at most 32 bytes: two half lines written back to back cost no
// more than a whole one, and Fastfood's buffers then stay in the first-level cache.
constexpr int kNarrowBytes = kVectorBytes < 32 ? kVectorBytes : 32;

template <class T, int B>
struct VectorOf {
  typedef T aligned __attribute__((vector_size(B), may_alias));
  typedef T unaligned __attribute__((vector_size(B), may_alias, aligned(sizeof(T))));
};
template <class T, int B = kVectorBytes>
using Vec = typename VectorOf<T, B>::aligned;
template <class T, int B = kVectorBytes>
constexpr int kLanes = B / static_cast<int>(sizeof(T));

template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  typedef int32_t type;
};
template <>
struct BitsOf<double> {
  typedef int64_t type;
};
template <class T, int B>
using IntVec = typename VectorOf<typename BitsOf<T>::type, B>::aligned;

template <class T, int B = kVectorBytes>
CERF_INLINE Vec<T, B> broadcast(T x) {
  return x - Vec<T, B>{};
}
template <class T, int B = kVectorBytes>
CERF_INLINE Vec<T, B> load(const T* p) {
  return *reinterpret_cast<const Vec<T, B>*>(p);
}
template <class T, int B = kVectorBytes>
CERF_INLINE void store(T* p, Vec<T, B> v) {
  *reinterpret_cast<Vec<T, B>*>(p) = v;
}
template <class T, int B = kVectorBytes>
CERF_INLINE Vec<T, B> load_any(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T, B>::unaligned*>(p);
}
template <class T, int B = kVectorBytes>
CERF_INLINE void store_any(T* p, Vec<T, B> v) {
  *reinterpret_cast<typename VectorOf<T, B>::unaligned*>(p) = v;
}
// Stores past the caches, in vectors of at most 32 bytes; p is aligned to B bytes. Other threads
// see the values after fence_streams().
template <class T, int B>
CERF_INLINE void stream(T* p, Vec<T, B> v) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, reinterpret_cast<Vec<T, B>*>(p));
#elif defined(__AVX__) && CERF_VECTOR_BYTES >= 32
  __builtin_ia32_movntps256(reinterpret_cast<float*>(p), reinterpret_cast<Vec<float, B>&>(v));
#elif defined(__SSE__)
  __builtin_ia32_movntps(reinterpret_cast<float*>(p), reinterpret_cast<Vec<float, B>&>(v));
#else
  store<T, B>(p, v);
#endif
}
CERF_INLINE void fence_streams() {
#if defined(__SSE__)
  __builtin_ia32_sfence();
#endif
}
template <class T, int B>
CERF_INLINE T sum_lanes(Vec<T, B> v) {
  T total = 0;
  for (int i = 0; i < kLanes<T, B>; i++) total += v[i];
  return total;
}

// Square transposes of kNarrowBytes vectors, in registers.
#define CERF_SHUFFLE __builtin_shufflevector
CERF_INLINE void transpose(Vec<float, 32>* a) {
  using V = Vec<float, 32>;
  V t[8], u[8];
  CERF_UNROLL for (int i = 0; i < 8; i += 2) {
    t[i] = CERF_SHUFFLE(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[i + 1] = CERF_SHUFFLE(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  CERF_UNROLL for (int i = 0; i < 8; i += 4) {
    CERF_UNROLL for (int j = 0; j < 2; j++) {
      u[i + 2 * j] = CERF_SHUFFLE(t[i + j], t[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      u[i + 2 * j + 1] = CERF_SHUFFLE(t[i + j], t[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  CERF_UNROLL for (int i = 0; i < 4; i++) {
    a[i] = CERF_SHUFFLE(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    a[i + 4] = CERF_SHUFFLE(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
CERF_INLINE void transpose(Vec<double, 32>* a) {
  using V = Vec<double, 32>;
  V t0 = CERF_SHUFFLE(a[0], a[1], 0, 4, 2, 6), t1 = CERF_SHUFFLE(a[0], a[1], 1, 5, 3, 7);
  V t2 = CERF_SHUFFLE(a[2], a[3], 0, 4, 2, 6), t3 = CERF_SHUFFLE(a[2], a[3], 1, 5, 3, 7);
  a[0] = CERF_SHUFFLE(t0, t2, 0, 1, 4, 5);
  a[1] = CERF_SHUFFLE(t1, t3, 0, 1, 4, 5);
  a[2] = CERF_SHUFFLE(t0, t2, 2, 3, 6, 7);
  a[3] = CERF_SHUFFLE(t1, t3, 2, 3, 6, 7);
}
CERF_INLINE void transpose(Vec<float, 16>* a) {
  using V = Vec<float, 16>;
  V t0 = CERF_SHUFFLE(a[0], a[1], 0, 4, 1, 5), t1 = CERF_SHUFFLE(a[0], a[1], 2, 6, 3, 7);
  V t2 = CERF_SHUFFLE(a[2], a[3], 0, 4, 1, 5), t3 = CERF_SHUFFLE(a[2], a[3], 2, 6, 3, 7);
  a[0] = CERF_SHUFFLE(t0, t2, 0, 1, 4, 5);
  a[1] = CERF_SHUFFLE(t0, t2, 2, 3, 6, 7);
  a[2] = CERF_SHUFFLE(t1, t3, 0, 1, 4, 5);
  a[3] = CERF_SHUFFLE(t1, t3, 2, 3, 6, 7);
}
CERF_INLINE void transpose(Vec<double, 16>* a) {
  Vec<double, 16> t = CERF_SHUFFLE(a[0], a[1], 0, 2);
  a[1] = CERF_SHUFFLE(a[0], a[1], 1, 3);
  a[0] = t;
}

// (a0, b0, a1, b1, ...) of two vectors, as two vectors.
#if CERF_VECTOR_BYTES >= 64
CERF_INLINE void interleave(Vec<float, 64>& a, Vec<float, 64>& b) {
  Vec<float, 64> low = CERF_SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  b = CERF_SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  a = low;
}
#endif
CERF_INLINE void interleave(Vec<float, 32>& a, Vec<float, 32>& b) {
  Vec<float, 32> low = CERF_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  b = CERF_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  a = low;
}
CERF_INLINE void interleave(Vec<double, 32>& a, Vec<double, 32>& b) {
  Vec<double, 32> low = CERF_SHUFFLE(a, b, 0, 4, 1, 5);
  b = CERF_SHUFFLE(a, b, 2, 6, 3, 7);
  a = low;
}
CERF_INLINE void interleave(Vec<float, 16>& a, Vec<float, 16>& b) {
  Vec<float, 16> low = CERF_SHUFFLE(a, b, 0, 4, 1, 5);
  b = CERF_SHUFFLE(a, b, 2, 6, 3, 7);
  a = low;
}
CERF_INLINE void interleave(Vec<double, 16>& a, Vec<double, 16>& b) {
  Vec<double, 16> low = CERF_SHUFFLE(a, b, 0, 2);
  b = CERF_SHUFFLE(a, b, 1, 3);
  a = low;
}

}  // namespace cerf::CERF_LEVEL
