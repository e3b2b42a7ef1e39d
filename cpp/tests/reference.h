// Maps in plain arrays and what they must give, in long double.
//
// Tolerances are the promised bounds, never tuned (cpp/README.md):
//   whole map: amplitude * (cosine bound + 2 pi u (m + 2) (sum |w_i x_i| + |b|)), phases in turns;
//   relu: amplitude * 2 pi u (m + 4) (sum |w_i x_i| + |b|).
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cerf/features.h"

namespace reference {

using Real = long double;
using cerf::KernelTable;
using cerf::Outputs;

constexpr Real kTwoPi = 6.283185307179586476925286766559005768L;
template <class T>
constexpr Real kUnit = sizeof(T) == 4 ? 0x1p-24L : 0x1p-53L;
template <class T>
constexpr Real kCosineBound = sizeof(T) == 4 ? 3e-7L : 2e-15L;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  uint64_t bits() {  // splitmix64
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double symmetric() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1; }  // [-1, 1)
  int32_t below(int32_t n) { return static_cast<int32_t>(bits() % static_cast<uint64_t>(n)); }

 private:
  uint64_t state_;
};

enum class Pairing { none, paired, odd };
constexpr Pairing kPairings[] = {Pairing::none, Pairing::paired, Pairing::odd};

inline Outputs random_outputs(int32_t n_projections, Pairing pairing, Random& random) {
  Outputs outputs{.offsets = {},
                  .amplitudes = {},
                  .n_outputs = n_projections,
                  .paired = pairing != Pairing::none};
  if (outputs.paired) outputs.n_outputs = 2 * n_projections - (pairing == Pairing::odd ? 1 : 0);
  for (int32_t k = 0; k < n_projections; k++) {
    outputs.offsets.push_back(7 * random.symmetric());
    outputs.amplitudes.push_back(0.5 + 0.4 * random.symmetric());
  }
  return outputs;
}

// A map in plain arrays: how a model is made of it, and what its phases must be.
template <class T>
struct Map {
  std::string name;
  int32_t n_features = 0;
  Outputs outputs;
  virtual ~Map() = default;
  virtual cerf::Model<T> model(const KernelTable<T>&) const = 0;
  // In turns, offsets included: phases of one row and the bound of their errors, which for a
  // relu map has the two roundings of the amplitude and of the product with it as well.
  virtual void phases(const T* x, Real* phases, Real* errors) const = 0;
};

template <class T>
struct Expected {
  std::vector<T> X;  // C order
  std::vector<Real> features, bounds;
};

// Feature of one column and the bound of its error, from a phase in turns and the bound of its own.
template <class T>
std::pair<Real, Real> feature_of(const Outputs& outputs, size_t column, Real phase, Real error) {
  const Real amplitude = outputs.amplitudes[outputs.paired ? column / 2 : column];
  if (outputs.relu) {
    return {amplitude * kTwoPi * std::max(phase, Real(0)), amplitude * kTwoPi * error};
  }
  const Real angle = kTwoPi * (phase - std::round(phase));
  const bool sine = outputs.paired && column % 2 == 1;
  return {amplitude * (sine ? std::sin(angle) : std::cos(angle)),
          amplitude * (kCosineBound<T> + kTwoPi * error)};
}

template <class T>
Expected<T> expected_of(const Map<T>& map, int64_t n_rows) {
  Random random(uint64_t(n_rows) + uint64_t(map.n_features));
  const size_t D = size_t(map.n_features), P = map.outputs.offsets.size();
  Expected<T> expected;
  for (size_t i = 0; i < size_t(n_rows) * D; i++) {
    expected.X.push_back(static_cast<T>(2 * random.symmetric()));
  }
  std::vector<Real> phases(P), errors(P);
  for (size_t i = 0; i < size_t(n_rows); i++) {
    map.phases(expected.X.data() + i * D, phases.data(), errors.data());
    for (size_t column = 0; column < size_t(map.outputs.n_outputs); column++) {
      const size_t k = map.outputs.paired ? column / 2 : column;
      const auto [feature, bound] = feature_of<T>(map.outputs, column, phases[k], errors[k]);
      expected.features.push_back(feature);
      expected.bounds.push_back(bound);
    }
  }
  return expected;
}

}  // namespace reference
