// Tests of the core against long double, for every level that this CPU can run. No framework.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "checks.h"

namespace {

using namespace checks;

template <class T>
void test_cosine() {
  Random random(3);
  std::vector<T> phases;
  for (int i = -4000; i <= 4000; i++) phases.push_back(static_cast<T>(i) / 64);
  for (int i = 0; i < 20003; i++) phases.push_back(static_cast<T>(1000 * random.symmetric()));
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    std::vector<T> cosine(phases.size()), sine(phases.size());
    kernels.cosine(phases.data(), cosine.data(), static_cast<int64_t>(phases.size()));
    kernels.sine(phases.data(), sine.data(), static_cast<int64_t>(phases.size()));
    Real worst = 0;
    for (size_t i = 0; i < phases.size(); i++) {
      const Real angle = kTwoPi * (phases[i] - std::round(phases[i]));
      worst = std::max(
          {worst, std::fabs(cosine[i] - std::cos(angle)), std::fabs(sine[i] - std::sin(angle))});
    }
    expect(worst <= kCosineBound<T>, "%s %s cosine: error %.3Lg", kernels.level, kTypeName<T>,
           worst);
    T wild[] = {std::numeric_limits<T>::max(), std::numeric_limits<T>::infinity(), T(1e30),
                T(-4e15)};
    kernels.cosine(wild, wild, 4);
    for (const T value : wild) expect(std::fabs(value) <= 1 + 1e-6, "cosine of a wild phase");
  });
}

template <class T>
void test_hadamard() {
  for (int32_t n = 1; n <= 4096; n *= 2) {
    Random random(static_cast<uint64_t>(n));
    std::vector<Real> exact(static_cast<size_t>(n));
    for (Real& value : exact) value = random.below(2001) - 1000;  // sums of integers are exact
    const std::vector<Real> source = exact;
    hadamard_in_place(exact);
    for (int32_t i = 0; n <= 64 && i < n; i++) {
      Real sum = 0;
      for (int32_t j = 0; j < n; j++) sum += __builtin_parity(i & j) ? -source[j] : source[j];
      expect(sum == exact[size_t(i)], "the reference transform itself, n=%d", n);
    }
    for_each_level<T>([&](const KernelTable<T>& kernels) {
      cerf::Buffer<T> row(n);
      std::copy(source.begin(), source.end(), row.data());
      kernels.walsh_hadamard(row.data(), n);
      expect(std::equal(exact.begin(), exact.end(), row.data()), "%s %s walsh_hadamard n=%d",
             kernels.level, kTypeName<T>, n);
    });
  }
}

// Around the panel widths and around the switch from the one-row to the batch form.
const std::vector<int64_t> kFewRows = {1, 5, 6, 11, 12, 13, 23, 24, 31, 32, 33, 63, 64, 65};

template <class T>
void test_dense() {
  for (const int32_t size : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 33, 47, 49, 65}) {
    for (const Pairing pairing : kPairings) {
      check_transform(dense_case<T>(size, 13, pairing), kFewRows, false);
      check_transform(dense_case<T>(17, size, pairing), kFewRows, false);
    }
  }
  check_transform(dense_case<T>(1, 1, Pairing::odd), kFewRows, true);
  check_transform(dense_case<T>(37, 29, Pairing::odd), kFewRows, true);
  check_transform(dense_case<T>(300, 40, Pairing::paired), {3, 20}, true);
}

template <class T>
void test_masked() {
  Random random(7);
  for (const int32_t group_size : {1, 2, 4, 8, 16}) {
    for (const int32_t per_mask : {1, 2, 3, 5, 6, 7, 16, 17}) {
      for (const int32_t n_features : {1, 6, 16, 33, 61}) {
        for (const bool holes : {false, true}) {
          const int32_t n_projections = 1 + random.below(40);
          check_transform(masked_case<T>(n_features, n_projections, per_mask, group_size, holes,
                                         kPairings[random.below(3)]),
                          {1, 13, 64, 65}, random.below(5) == 0);
        }
      }
    }
    // Wide enough for several chunks of the independent masks.
    check_transform(masked_case<T>(500, 9, 1, group_size, true, Pairing::odd), {2, 67}, false);
    check_transform(masked_case<T>(500, 40, 16, group_size, true, Pairing::none), {2, 67}, false);
  }
}

template <class T>
void test_rectified() {
  Random random(13);
  for (const int32_t size : {1, 2, 5, 8, 15, 16, 17, 31, 33, 65}) {
    check_transform(rectified(dense_case<T>(size, 13, Pairing::none)), kFewRows, false);
    check_transform(rectified(full_mask_case<T>(17, size)), kFewRows, false);
  }
  for (const int32_t group_size : {1, 2, 4, 8, 16}) {
    for (const int32_t per_mask : {1, 2, 3, 7, 17}) {
      const int32_t n_projections = 1 + random.below(40);
      check_transform(
          rectified(masked_case<T>(33, n_projections, per_mask, group_size, true, Pairing::none)),
          {1, 13, 64, 65}, random.below(3) == 0);
    }
    check_transform(rectified(masked_case<T>(500, 9, 1, group_size, true, Pairing::none)), {2, 67},
                    false);
  }
}

// What sparse rows go through: two operations, each rounded once, so the bits are known.
template <class T>
void test_rectified_finish_row() {
  for (int32_t n = 1; n <= 40; n++) {
    Random random(static_cast<uint64_t>(n));
    std::vector<T> phases, offsets, amplitudes, exact;
    for (int32_t k = 0; k < n; k++) {
      phases.push_back(static_cast<T>(3 * random.symmetric()));
      offsets.push_back(static_cast<T>(3 * random.symmetric()));
      amplitudes.push_back(static_cast<T>(random.symmetric()));
      exact.push_back(std::max(phases.back() + offsets.back(), T(0)) * amplitudes.back());
    }
    for_each_level<T>([&](const KernelTable<T>& kernels) {
      std::vector<T> out(static_cast<size_t>(n));
      kernels.finish_row(phases.data(), offsets.data(), amplitudes.data(), n, n, false, true,
                         out.data());
      expect(out == exact, "%s %s finish_row n=%d, rectified", kernels.level, kTypeName<T>, n);
    });
  }
}

template <class T>
void test_fastfood() {
  Random random(11);
  for (int32_t padded = 2; padded <= 2048; padded *= 2) {
    const bool large = padded > 512;
    const std::vector<int64_t> few{1, 13}, many{1, 11, 12, 15, 16, 17};
    for (int32_t options = 0; options < 8; options++) {
      const int32_t sizes[] = {padded, padded / 2 + 1, padded - 1};
      const int32_t n_features = sizes[random.below(3)], n_blocks = 1 + random.below(large ? 2 : 3);
      check_transform(
          fastfood_case<T>(n_features, padded, n_blocks, (options & 1) != 0, (options & 2) != 0,
                           (options & 4) != 0, kPairings[random.below(3)]),
          large ? few : many, padded <= 32);
    }
  }
}

template <class T>
void test_rows_scores_and_threads() {
  std::vector<int64_t> every;
  for (int64_t n = 1; n <= 70; n++) every.push_back(n);
  const auto check_all = [&](const Map<T>& map) {
    check_transform(map, every, false);
    check_scores(map, {1, 2, 12, 33, 64, 65}, 13);
    check_non_finite(map, {1, 3, 14, 35});
    check_huge_inputs(map);
    check_equal_bits(map);
    check_concurrent_calls(map);
  };
  check_all(dense_case<T>(19, 27, Pairing::odd));
  check_all(masked_case<T>(21, 25, 1, 2, true, Pairing::none));
  check_all(masked_case<T>(21, 11, 1, 8, false, Pairing::odd));
  check_all(masked_case<T>(18, 26, 8, 4, false, Pairing::paired));
  check_all(rectified(full_mask_case<T>(19, 27)));
  check_all(rectified(masked_case<T>(21, 25, 1, 2, true, Pairing::none)));
  check_all(rectified(masked_case<T>(21, 11, 1, 8, false, Pairing::none)));
  check_all(rectified(masked_case<T>(18, 26, 8, 4, false, Pairing::none)));
  check_all(fastfood_case<T>(11, 16, 3, false, true, true, Pairing::none));
  check_all(fastfood_case<T>(16, 16, 2, true, false, false, Pairing::odd));
}

// Of whole cache lines a row, which are written past the caches, and of others.
template <class T>
void test_large_outputs() {
  check_large_output(dense_case<T>(3, 128, Pairing::none));
  check_large_output(dense_case<T>(3, 127, Pairing::none));
  check_large_output(masked_case<T>(9, 64, 1, 1, false, Pairing::none));
  check_large_output(masked_case<T>(18, 64, 16, 4, false, Pairing::paired));
  check_large_output(rectified(masked_case<T>(18, 64, 16, 4, false, Pairing::none)));
  check_large_output(fastfood_case<T>(8, 8, 12, false, true, false, Pairing::paired));
}

template <class T>
void test_all() {
  test_cosine<T>();
  test_hadamard<T>();
  test_dense<T>();
  test_masked<T>();
  test_rectified<T>();
  test_rectified_finish_row<T>();
  test_fastfood<T>();
  test_rows_scores_and_threads<T>();
  test_large_outputs<T>();
}

}  // namespace

void test_output_memory();  // in its own file

int main() {
  cerf::set_num_threads(3);  // also on machines with fewer cores
  test_output_memory();
  test_all<float>();
  test_all<double>();
  return expectations::summary();
}
