// Kernels by themselves: cosine and sine, Walsh-Hadamard transform, the end of a row.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "checks.h"
#include "reference_fastfood.h"
#include "tests.h"

namespace {

using namespace checks;

template <class T>
void cosine_and_sine() {
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
void hadamard() {
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

// What sparse rows go through: two operations, each rounded once, so the bits are known.
template <class T>
void relu_finish_row() {
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
      expect(out == exact, "%s %s finish_row n=%d, relu", kernels.level, kTypeName<T>, n);
    });
  }
}

}  // namespace

void test_kernels() {
  cosine_and_sine<float>();
  cosine_and_sine<double>();
  hadamard<float>();
  hadamard<double>();
  relu_finish_row<float>();
  relu_finish_row<double>();
}
