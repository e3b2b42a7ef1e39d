// Maps in plain arrays and what they must give, in long double.
//
// Tolerances are the promised bounds, never tuned (cpp/README.md):
//   whole map: amplitude * (cosine bound + 2 pi u (m + 2) (sum |w_i x_i| + |b|)), phases in turns;
//   rectified: amplitude * 2 pi u (m + 4) (sum |w_i x_i| + |b|).
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cerf/features.h"

namespace reference {

using Real = long double;
using cerf::KernelTable;
using cerf::Outputs;
template <class T>
using Packed = std::unique_ptr<cerf::Structure<T>>;

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
  Outputs outputs{{}, {}, n_projections, pairing != Pairing::none};
  if (outputs.paired) outputs.n_outputs = 2 * n_projections - (pairing == Pairing::odd ? 1 : 0);
  for (int32_t k = 0; k < n_projections; k++) {
    outputs.offsets.push_back(7 * random.symmetric());
    outputs.amplitudes.push_back(0.5 + 0.4 * random.symmetric());
  }
  return outputs;
}

// A map in plain arrays: how it is packed, and what its phases must be.
template <class T>
struct Map {
  std::string name;
  int32_t n_features = 0;
  Outputs outputs;
  virtual ~Map() = default;
  virtual Packed<T> pack(const KernelTable<T>&) const = 0;
  // In turns, offsets included: phases of one row and the bound of their errors, which for a
  // rectified map has the two roundings of the amplitude and of the product with it as well.
  virtual void phases(const T* x, Real* phases, Real* errors) const = 0;
};

template <class T>
struct MaskedCase : Map<T> {
  int32_t group_size = 1;
  bool dense = false;
  std::vector<int64_t> mask_pointers{0}, projection_pointers{0};
  std::vector<int32_t> mask_inputs;
  std::vector<double> values;

  Packed<T> pack(const KernelTable<T>& kernels) const override {
    if (dense)
      return cerf::pack_dense<T>({this->n_features, values.data()}, this->outputs, kernels);
    return cerf::pack_masked<T>(
        {this->n_features, static_cast<int32_t>(mask_pointers.size()) - 1, group_size,
         mask_pointers.data(), mask_inputs.data(), projection_pointers.data(), values.data()},
        this->outputs, kernels);
  }

  void phases(const T* x, Real* phases, Real* errors) const override {
    const double* block = values.data();
    const int64_t n_more_roundings = this->outputs.rectified ? 4 : 2;
    for (size_t m = 0; m + 1 < mask_pointers.size(); m++) {
      const int64_t n_inputs = mask_pointers[m + 1] - mask_pointers[m];
      const int64_t first = projection_pointers[m], count = projection_pointers[m + 1] - first;
      for (int64_t f = 0; f < count; f++) {
        const Real offset = this->outputs.offsets[size_t(first + f)];
        Real sum = offset, size = std::fabs(offset);
        for (int64_t i = 0; i < n_inputs; i++) {
          const Real term =
              Real(block[i * count + f]) * x[mask_inputs[size_t(mask_pointers[m] + i)]];
          sum += term;
          size += std::fabs(term);
        }
        phases[first + f] = sum / kTwoPi;
        errors[first + f] = kUnit<T> * Real(n_inputs + n_more_roundings) * size / kTwoPi;
      }
      block += n_inputs * count;
    }
  }

  // One mask for the next `count` projections.
  void add_mask(const std::vector<int32_t>& inputs, int32_t count, Random& random) {
    mask_inputs.insert(mask_inputs.end(), inputs.begin(), inputs.end());
    mask_pointers.push_back(static_cast<int64_t>(mask_inputs.size()));
    projection_pointers.push_back(projection_pointers.back() + count);
    const double scale = 9 / std::sqrt(double(inputs.size()));
    for (size_t i = 0; i < inputs.size() * size_t(count); i++) {
      values.push_back(scale * random.symmetric());
    }
  }
};

template <class T>
MaskedCase<T> dense_case(int32_t n_features, int32_t n_projections, Pairing pairing) {
  Random random(uint64_t(n_features * 1000 + n_projections));
  MaskedCase<T> map;
  map.name = "dense D=" + std::to_string(n_features) + " P=" + std::to_string(n_projections);
  map.n_features = n_features;
  map.dense = true;
  map.outputs = random_outputs(n_projections, pairing, random);
  std::vector<int32_t> all;
  for (int32_t d = 0; d < n_features; d++) all.push_back(d);
  map.add_mask(all, n_projections, random);
  return map;
}

// The same map with a mask of all inputs.
template <class T>
MaskedCase<T> full_mask_case(int32_t n_features, int32_t n_projections) {
  MaskedCase<T> map = dense_case<T>(n_features, n_projections, Pairing::none);
  map.name += " as mask";
  map.dense = false;
  return map;
}

template <class T>
MaskedCase<T> rectified(MaskedCase<T> map) {
  map.name += " rectified";
  map.outputs.rectified = true;
  return map;
}

// About a third of the groups per mask; `holes` drops single inputs of a group as well.
template <class T>
MaskedCase<T> masked_case(int32_t n_features, int32_t n_projections, int32_t per_mask,
                          int32_t group_size, bool holes, Pairing pairing) {
  Random random(uint64_t(n_features * 7919 + n_projections * 31 + per_mask * 17 + group_size));
  MaskedCase<T> map;
  map.name = "masked D=" + std::to_string(n_features) + " P=" + std::to_string(n_projections) +
             " per_mask=" + std::to_string(per_mask) + " group=" + std::to_string(group_size) +
             (holes ? " holes" : "");
  map.n_features = n_features;
  map.group_size = group_size;
  map.outputs = random_outputs(n_projections, pairing, random);
  for (int32_t first = 0; first < n_projections; first += per_mask) {
    std::vector<int32_t> inputs;
    while (inputs.empty()) {
      for (int32_t group = 0; group < n_features; group += group_size) {
        if (random.below(3) != 0) continue;
        for (int32_t d = group; d < std::min(group + group_size, n_features); d++) {
          if (!holes || random.below(4) != 0) inputs.push_back(d);
        }
      }
    }
    map.add_mask(inputs, std::min(per_mask, n_projections - first), random);
  }
  return map;
}

inline void hadamard_in_place(std::vector<Real>& row) {
  for (size_t h = 1; h < row.size(); h *= 2) {
    for (size_t i = 0; i < row.size(); i++) {
      if ((i & h) != 0) continue;
      const Real x = row[i], y = row[i + h];
      row[i] = x + y;
      row[i + h] = x - y;
    }
  }
}

template <class T>
struct FastfoodCase : Map<T> {
  int32_t padded = 2, n_blocks = 1;
  bool shared_signs = false;
  std::vector<double> signs, gaussian_diag, row_scale, centres;
  std::vector<int32_t> permutation, kept_rows;
  std::vector<int64_t> kept_pointers{0};

  Packed<T> pack(const KernelTable<T>& kernels) const override {
    return cerf::pack_fastfood<T>(
        {this->n_features, padded, n_blocks, shared_signs, signs.data(), gaussian_diag.data(),
         permutation.data(), row_scale.data(), centres.empty() ? nullptr : centres.data(),
         kept_pointers.data(), kept_rows.data()},
        this->outputs, kernels);
  }

  // Roundings on the way of one term: sign 1, 2 log2(d) additions, diagonal 2, row scale 2, the
  // offset and the centre 2; all on absolute values, and |H| is a matrix of ones.
  void phases(const T* x, Real* phases, Real* errors) const override {
    const size_t d = size_t(padded);
    const Real n_roundings = 2 * std::log2(Real(padded)) + 7;
    for (size_t j = 0; j < size_t(n_blocks); j++) {
      std::vector<Real> mixed(d), block(d);
      Real input_sum = 0, diag_sum = 0, centre = 0, centre_size = 0;
      for (size_t i = 0; i < size_t(this->n_features); i++) {
        mixed[i] = Real(x[i]) * signs[shared_signs ? i : j * d + i];
        input_sum += std::fabs(mixed[i]);
        if (centres.empty()) continue;
        const Real term = Real(x[i]) * centres[j * size_t(this->n_features) + i];
        centre += term;
        centre_size += std::fabs(term);
      }
      hadamard_in_place(mixed);
      for (size_t i = 0; i < d; i++) {
        block[i] = mixed[size_t(permutation[j * d + i])] * gaussian_diag[j * d + i];
        diag_sum += std::fabs(gaussian_diag[j * d + i]);
      }
      hadamard_in_place(block);
      for (size_t k = size_t(kept_pointers[j]); k < size_t(kept_pointers[j + 1]); k++) {
        const Real offset = this->outputs.offsets[k];
        phases[k] = (block[size_t(kept_rows[k])] * row_scale[k] + centre + offset) / kTwoPi;
        errors[k] = kUnit<T> / kTwoPi *
                    (n_roundings * diag_sum * input_sum * std::fabs(Real(row_scale[k])) +
                     (this->n_features + 4) * centre_size + 3 * std::fabs(offset));
      }
    }
  }
};

template <class T>
FastfoodCase<T> fastfood_case(int32_t n_features, int32_t padded, int32_t n_blocks,
                              bool shared_signs, bool centred, bool subset, Pairing pairing) {
  Random random(uint64_t(n_features * 131 + padded * 7 + n_blocks));
  FastfoodCase<T> map;
  map.name = "fastfood D=" + std::to_string(n_features) + " d=" + std::to_string(padded) +
             " J=" + std::to_string(n_blocks) + (shared_signs ? " shared" : "") +
             (centred ? " centred" : "") + (subset ? " subset" : "");
  map.n_features = n_features;
  map.padded = padded;
  map.n_blocks = n_blocks;
  map.shared_signs = shared_signs;
  for (int32_t i = 0; i < padded * (shared_signs ? 1 : n_blocks); i++) {
    map.signs.push_back(random.below(2) != 0 ? 1 : -1);
  }
  for (int32_t j = 0; j < n_blocks; j++) {
    std::vector<int32_t> order(static_cast<size_t>(padded));
    for (int32_t i = 0; i < padded; i++) {
      map.gaussian_diag.push_back(2 * random.symmetric());
      const int32_t other = random.below(i + 1);
      order[size_t(i)] = order[size_t(other)];
      order[size_t(other)] = i;
      // The second block keeps nothing if only a subset is kept.
      if (!subset || (j != 1 && random.below(3) == 0) || (j == 0 && i == 0)) {
        map.kept_rows.push_back(subset ? padded - 1 - i : i);
        map.row_scale.push_back(5 * random.symmetric() / padded);
      }
    }
    map.permutation.insert(map.permutation.end(), order.begin(), order.end());
    map.kept_pointers.push_back(static_cast<int64_t>(map.kept_rows.size()));
  }
  for (int32_t i = 0; centred && i < n_blocks * n_features; i++) {
    map.centres.push_back(random.symmetric());
  }
  map.outputs = random_outputs(static_cast<int32_t>(map.kept_rows.size()), pairing, random);
  return map;
}

template <class T>
struct Expected {
  std::vector<T> X;  // C order
  std::vector<Real> features, bounds;
};

// Feature of one column and the bound of its error, from a phase in turns and the bound of its own.
template <class T>
std::pair<Real, Real> feature_of(const Outputs& outputs, size_t column, Real phase, Real error) {
  const Real amplitude = outputs.amplitudes[outputs.paired ? column / 2 : column];
  if (outputs.rectified) {
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

template <class T>
cerf::Model<T> model_of(const Map<T>& map, const KernelTable<T>& kernels) {
  return cerf::Model<T>(map.pack(kernels), map.outputs, map.n_features, kernels);
}

}  // namespace reference
