// Tables and linear parts in plain arrays, and their scores in long double.
//
// Weights, inputs and offsets are multiples of 1/64, chosen so that every phase is an odd multiple
// of 1/64: it is exact in any order of summation and never at the edge of a bin. A score of K
// entries and m products passes at most K + m + 3 roundings:
//   u (K + m + 3) (sum |T| + sum |L x| + |a|).
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cerf/table_model.h"
#include "reference.h"

namespace reference {

template <class T>
struct LinearCase {
  int64_t n_features = 0;
  std::vector<int64_t> pointers{0};
  std::vector<int32_t> inputs;
  std::vector<double> values;

  cerf::LinearMap map() const {
    return {.n_inputs = n_features, .pointers = pointers, .inputs = inputs, .values = values};
  }
  // About one input in `every` for each score, out of [first, n_features).
  static LinearCase drawn(int64_t n_features, int64_t n_scores, int32_t first, int32_t every,
                          Random& random) {
    LinearCase part;
    part.n_features = n_features;
    for (int64_t o = 0; o < n_scores; o++) {
      for (int32_t d = first; d < n_features; d++) {
        if (random.below(every) != 0) continue;
        part.inputs.push_back(d);
        part.values.push_back(random.symmetric());
      }
      part.pointers.push_back(static_cast<int64_t>(part.inputs.size()));
    }
    return part;
  }
  // Adds the terms of score o of one row to a sum, and their sizes.
  void add(int64_t o, const T* x, Real& sum, Real& size) const {
    for (int64_t i = pointers[size_t(o)]; i < pointers[size_t(o + 1)]; i++) {
      const Real term = Real(values[size_t(i)]) * x[inputs[size_t(i)]];
      sum += term;
      size += std::fabs(term);
    }
  }
  int64_t n_terms(int64_t o) const { return pointers[size_t(o + 1)] - pointers[size_t(o)]; }
};

template <class T>
struct TableCase {
  std::string name;
  int64_t n_bins = 0;
  std::vector<int64_t> mask_pointers{0};
  std::vector<int32_t> mask_inputs;
  std::vector<double> values, offsets, tables, intercept;
  LinearCase<T> linear;

  int64_t n_scores() const { return static_cast<int64_t>(intercept.size()); }
  int64_t n_tables() const { return static_cast<int64_t>(offsets.size()); }
  cerf::TableModel<T> model(const KernelTable<T>& kernels) const {
    return cerf::TableModel<T>({.mask_pointers = mask_pointers,
                                .mask_inputs = mask_inputs,
                                .values = values,
                                .offsets = offsets,
                                .n_bins = n_bins,
                                .tables = tables,
                                .linear = linear.map(),
                                .intercept = intercept},
                               kernels);
  }

  int64_t bin(int64_t k, const T* x) const {
    Real u = offsets[size_t(k)];
    for (int64_t i = mask_pointers[size_t(k)]; i < mask_pointers[size_t(k + 1)]; i++) {
      u += Real(values[size_t(i)]) * x[mask_inputs[size_t(i)]];
    }
    return static_cast<int64_t>(std::clamp<Real>(std::floor(u), 0, Real(n_bins - 1)));
  }

  void scores(const T* x, std::vector<Real>& exact, std::vector<Real>& bounds) const {
    for (int64_t o = 0; o < n_scores(); o++) {
      Real sum = intercept[size_t(o)], size = std::fabs(sum);
      for (int64_t k = 0; k < n_tables(); k++) {
        const Real entry = tables[size_t((k * n_bins + bin(k, x)) * n_scores() + o)];
        sum += entry;
        size += std::fabs(entry);
      }
      linear.add(o, x, sum, size);
      exact.push_back(sum);
      bounds.push_back(kUnit<T> * Real(n_tables() + linear.n_terms(o) + 3) * size);
    }
  }

  // Rows of quarters between -2 and 2.
  std::vector<T> rows(int64_t n) const {
    Random random(static_cast<uint64_t>(n));
    std::vector<T> X(size_t(n * linear.n_features));
    for (T& x : X) x = static_cast<T>(random.below(17) - 8) / 4;
    return X;
  }
};

// Tables read inputs below `end`, the linear part those from `begin` on; one mask in eight is
// empty.
template <class T>
TableCase<T> table_case(int32_t n_features, int32_t n_tables, int32_t n_bins, int32_t n_scores,
                        int32_t end, int32_t begin) {
  Random random(uint64_t(n_features * 7919 + n_tables * 31 + n_bins * 17 + n_scores));
  TableCase<T> map;
  map.name = "tables D=" + std::to_string(n_features) + " K=" + std::to_string(n_tables) +
             " bins=" + std::to_string(n_bins) + " O=" + std::to_string(n_scores);
  map.n_bins = n_bins;
  for (int32_t k = 0; k < n_tables; k++) {
    const bool is_empty = random.below(8) == 0;
    for (int32_t d = 0; d < end && !is_empty; d++) {
      if (random.below(3) != 0) continue;
      map.mask_inputs.push_back(d);
      map.values.push_back(double(random.below(33) - 16) / 8);
    }
    map.mask_pointers.push_back(static_cast<int64_t>(map.mask_inputs.size()));
    map.offsets.push_back(random.below(n_bins) + 1.0 / 64);
  }
  map.tables.resize(size_t(n_tables) * size_t(n_bins) * size_t(n_scores));
  for (double& entry : map.tables) entry = random.symmetric();
  map.intercept.resize(size_t(n_scores));
  for (double& value : map.intercept) value = random.symmetric();
  map.linear = LinearCase<T>::drawn(n_features, n_scores, begin, 2, random);
  return map;
}

template <class T>
TableCase<T> table_case(int32_t n_features, int32_t n_tables, int32_t n_bins, int32_t n_scores) {
  return table_case<T>(n_features, n_tables, n_bins, n_scores, n_features, 0);
}

}  // namespace reference
