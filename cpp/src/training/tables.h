// Table features: piecewise linear functions of a projection, one for each score.
#pragma once

#include <cstring>

#include "kernels/lookup.h"
#include "training/batch.h"

namespace cerf::CERF_LEVEL {

// Where the normalised projections of a vector of samples lie between two knots.
struct Knots {
  static constexpr int n = kLanes<float>;
  alignas(64) int32_t index[n];
  alignas(64) float share[n];     // of the way to the next knot
  alignas(64) float per_unit[n];  // knots a unit of the projection; 0 if clamped
};

CERF_INLINE void find_knots(const float* y, int32_t n_knots, Knots& knots) {
  typedef VectorOf<int32_t, kVectorBytes>::aligned Int;
  const float per_unit = static_cast<float>(n_knots - 1) / (2.0f * kTableEnd);
  const Vec<float> zero{}, last = broadcast<float>(static_cast<float>(n_knots - 1));
  Vec<float> u = (load<float>(y) + broadcast<float>(kTableEnd)) * broadcast<float>(per_unit);
  Vec<float> slope = u > zero ? broadcast<float>(per_unit) : zero;
  slope = u < last ? slope : zero;
  u = u > zero ? u : zero;  // NaN becomes 0
  u = u < last ? u : last;
  Int index = __builtin_convertvector(u, Int);
  const Int most = Int{} + (n_knots - 2);
  index = index < most ? index : most;
  *reinterpret_cast<Int*>(knots.index) = index;
  store<float>(knots.share, u - __builtin_convertvector(index, Vec<float>));
  store<float>(knots.per_unit, slope);
}

// by_row[s] += table at y[s]; rows of P padded scores. P = 0: any multiple of 8, given by `padded`.
template <int P>
CERF_INLINE void add_table(const float* table, int32_t n_knots, int32_t padded, const float* y,
                           int32_t width, float* by_row) {
  const int32_t n = P > 0 ? P : padded;
  constexpr int w = kVectorBytes >= 32 && P != 4 ? 8 : 4;
  using V = Vec<float, w * 4>;
  Knots knots;
  for (int32_t s = 0; s < width; s += Knots::n) {
    find_knots(y + s, n_knots, knots);
    for (int i = 0; i < Knots::n; i++) {
      const float* at = table + int64_t(knots.index[i]) * n;
      float* out = by_row + int64_t(s + i) * n;
      const float share = knots.share[i];
      for (int32_t o = 0; o < n; o += w) {
        const V low = load_any<float, w * 4>(at + o), high = load_any<float, w * 4>(at + n + o);
        const V sum = load_any<float, w * 4>(out + o) + low + (high - low) * share;
        store_any<float, w * 4>(out + o, sum);
      }
    }
  }
}

// gradient of the table, and slopes[s] = derivative with respect to y[s].
template <int P>
CERF_INLINE void table_slopes(const float* table, int32_t n_knots, int32_t padded, const float* y,
                              int32_t width, const float* by_row, float* slopes, float* gradient) {
  const int32_t n = P > 0 ? P : padded;
  constexpr int w = kVectorBytes >= 32 && P != 4 ? 8 : 4;
  using V = Vec<float, w * 4>;
  Knots knots;
  for (int32_t s = 0; s < width; s += Knots::n) {
    find_knots(y + s, n_knots, knots);
    for (int i = 0; i < Knots::n; i++) {
      const int64_t first = int64_t(knots.index[i]) * n;
      const float* at = table + first;
      float* into = gradient + first;
      const float* by_score = by_row + int64_t(s + i) * n;
      const float share = knots.share[i];
      V slope{};
      for (int32_t o = 0; o < n; o += w) {
        const V g = load_any<float, w * 4>(by_score + o);
        slope += g * (load_any<float, w * 4>(at + n + o) - load_any<float, w * 4>(at + o));
        const V high = g * share;
        store_any<float, w * 4>(into + o, load_any<float, w * 4>(into + o) + (g - high));
        store_any<float, w * 4>(into + n + o, load_any<float, w * 4>(into + n + o) + high);
      }
      slopes[s + i] = lane_sum(slope) * knots.per_unit[i];
    }
  }
}

// One score: scores[s] += table at y[s].
CERF_INLINE void add_single_table(const float* table, int32_t n_knots, const float* y,
                                  int32_t width, float* scores) {
  with_registers<float>(n_knots - 1, [&]<int R>() {
    const Numbers<float, R> lows(table, n_knots - 1), highs(table + 1, n_knots - 1);
    Knots knots;
    for (int32_t s = 0; s < width; s += Knots::n) {
      find_knots(y + s, n_knots, knots);
      const Vec<float> low = lows.at(knots.index), high = highs.at(knots.index);
      const Vec<float> value = low + load<float>(knots.share) * (high - low);
      store<float>(scores + s, load<float>(scores + s) + value);
    }
  });
}

// Gradients of the two knots of each sample, side by side, are added to one of four copies in
// turn: neighbours that lie between the same knots need not wait for each other.
constexpr int kKnotCopies = 4;
constexpr int32_t kMostCopiedKnots = 128;  // 4 kB on the stack; samples seldom meet on more

struct CopiedGradient {
  alignas(64) float pairs[kKnotCopies * kMostCopiedKnots * 2];
  int32_t n_intervals;

  explicit CopiedGradient(int32_t n) : n_intervals(n) {
    std::memset(pairs, 0, sizeof(float) * 2 * kKnotCopies * static_cast<size_t>(n));
  }
  // by_low and by_high of Knots::n samples.
  CERF_INLINE_MEMBER void add(const int32_t* index, const float* by_knot) {
    CERF_UNROLL for (int i = 0; i < Knots::n; i++) {
      float* at = pairs + 2 * (i % kKnotCopies * n_intervals + index[i]);
      store_any<float, 8>(at, load_any<float, 8>(at) + load_any<float, 8>(by_knot + 2 * i));
    }
  }
  void add_to(float* gradient) const {
    for (int32_t i = 0; i < n_intervals; i++) {
      float low = 0.0f, high = 0.0f;
      for (int c = 0; c < kKnotCopies; c++) {
        low += pairs[2 * (c * n_intervals + i)];
        high += pairs[2 * (c * n_intervals + i) + 1];
      }
      gradient[i] += low;
      gradient[i + 1] += high;
    }
  }
};

// slopes[s] = by_score[s] times the slope of the table at y[s]; `add(index, by_knot)` is called for
// every Knots::n samples with their intervals and the gradients of both ends, side by side.
template <class Add>
CERF_INLINE void slopes_between_knots(const float* table, int32_t n_knots, const float* y,
                                      int32_t width, const float* by_score, float* slopes,
                                      const Add& add) {
  with_registers<float>(n_knots - 1, [&]<int R>() {
    const Numbers<float, R> lows(table, n_knots - 1), highs(table + 1, n_knots - 1);
    Knots knots;
    alignas(64) float by_knot[2 * Knots::n];
    for (int32_t s = 0; s < width; s += Knots::n) {
      find_knots(y + s, n_knots, knots);
      const Vec<float> g = load<float>(by_score + s);
      const Vec<float> rise = highs.at(knots.index) - lows.at(knots.index);
      store<float>(slopes + s, g * rise * load<float>(knots.per_unit));
      Vec<float> by_high = g * load<float>(knots.share), by_low = g - by_high;
      interleave(by_low, by_high);
      store<float>(by_knot, by_low);
      store<float>(by_knot + Knots::n, by_high);
      add(knots.index, by_knot);
    }
  });
}

// One score: gradient of the table, and slopes[s] = derivative with respect to y[s].
CERF_INLINE void single_table_slopes(const float* table, int32_t n_knots, const float* y,
                                     int32_t width, const float* by_score, float* slopes,
                                     float* gradient) {
  if (n_knots <= kMostCopiedKnots) {
    CopiedGradient copies(n_knots - 1);
    slopes_between_knots(
        table, n_knots, y, width, by_score, slopes,
        [&](const int32_t* index, const float* by_knot) { copies.add(index, by_knot); });
    copies.add_to(gradient);
    return;
  }
  slopes_between_knots(table, n_knots, y, width, by_score, slopes,
                       [&](const int32_t* index, const float* by_knot) {
                         for (int i = 0; i < Knots::n; i++) {
                           gradient[index[i]] += by_knot[2 * i];
                           gradient[index[i] + 1] += by_knot[2 * i + 1];
                         }
                       });
}

// Adds c D^T D t to the gradient for each score, D the second differences along the knots.
CERF_INLINE void add_curvature(const float* table, int32_t n_knots, int32_t n, float c,
                               float* gradient) {
  for (int32_t m = 1; m + 1 < n_knots; m++) {
    const float* t = table + int64_t(m) * n;
    float* g = gradient + int64_t(m) * n;
    for (int32_t o = 0; o < n; o++) {
      const float second = c * (t[o - n] - 2.0f * t[o] + t[o + n]);
      g[o - n] += second;
      g[o] -= 2.0f * second;
      g[o + n] += second;
    }
  }
}

}  // namespace cerf::CERF_LEVEL
