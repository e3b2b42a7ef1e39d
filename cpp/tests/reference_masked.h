// Dense and masked maps in plain arrays.
#pragma once

#include <string>
#include <vector>

#include "reference.h"

namespace reference {

template <class T>
struct MaskedCase : Map<T> {
  int32_t group_size = 1;
  bool dense = false;
  std::vector<int64_t> mask_pointers{0}, projection_pointers{0};
  std::vector<int32_t> mask_inputs;
  std::vector<double> values;

  cerf::Model<T> model(const KernelTable<T>& kernels) const override {
    const int64_t D = this->n_features;
    if (dense) {
      return cerf::make_model<T>(cerf::DenseMap{{values.data(), D, this->outputs.n_projections()}},
                                 this->outputs, kernels);
    }
    return cerf::make_model<T>(cerf::MaskedMap{.n_inputs = D,
                                               .mask_pointers = mask_pointers,
                                               .mask_inputs = mask_inputs,
                                               .projection_pointers = projection_pointers,
                                               .values = values,
                                               .group_size = group_size},
                               this->outputs, kernels);
  }

  void phases(const T* x, Real* phases, Real* errors) const override {
    const double* block = values.data();
    const int64_t n_more_roundings = this->outputs.relu ? 4 : 2;
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
MaskedCase<T> relu(MaskedCase<T> map) {
  map.name += " relu";
  map.outputs.relu = true;
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

// The same masks among more inputs, of which most are read by none: input i becomes places[i].
template <class T>
MaskedCase<T> spread_case(MaskedCase<T> map, int32_t n_features,
                          const std::vector<int32_t>& places) {
  map.name += " of D=" + std::to_string(n_features);
  map.n_features = n_features;
  for (int32_t& input : map.mask_inputs) input = places[size_t(input)];
  return map;
}

// Inputs from `first` on, `step` apart.
inline std::vector<int32_t> places_of(int32_t n, int32_t first, int32_t step) {
  std::vector<int32_t> places;
  for (int32_t i = 0; i < n; i++) places.push_back(first + i * step);
  return places;
}

}  // namespace reference
