// Fastfood maps in plain arrays.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "reference.h"

namespace reference {

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

  cerf::Model<T> model(const KernelTable<T>& kernels) const override {
    const int64_t d = padded, J = n_blocks, D = this->n_features;
    cerf::FastfoodMap map{.n_inputs = D,
                          .signs = {signs.data(), shared_signs ? 1 : J, d},
                          .gaussian_diag = {gaussian_diag.data(), J, d},
                          .permutation = {permutation.data(), J, d},
                          .row_scale = row_scale,
                          .kept_pointers = kept_pointers,
                          .kept_rows = kept_rows,
                          .centres = {}};
    if (!centres.empty()) map.centres = cerf::MatrixView<double>{centres.data(), J, D};
    return cerf::make_model<T>(map, this->outputs, kernels);
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

}  // namespace reference
