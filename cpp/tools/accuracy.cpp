// Prints the largest errors of the cosine and of whole maps, one line a level and dtype, as a
// Markdown table: `make sanitize` builds it for x86-64 and `make test-arm` for ARM.
//
// Cosine and sine: |t| up to 1,000 turns. Maps: amplitude 1, phases of about a turn, D = 784 inputs
// (Fastfood: 512 of 512), 128 projections, 70 rows as a batch and 5 by the one-row form. "used" is
// the largest share of its own bound that an output uses.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "checks.h"
#include "reference_fastfood.h"
#include "reference_masked.h"

namespace {

using namespace checks;

struct Errors {
  Real largest = 0, used = 0;
  void see(Real error, Real bound) {
    largest = std::max(largest, error);
    used = std::max(used, error / bound);
  }
};

template <class T>
Errors cosine_errors(const KernelTable<T>& kernels) {
  Random random(3);
  std::vector<T> phases;
  for (int i = 0; i < 100000; i++) phases.push_back(static_cast<T>(1000 * random.symmetric()));
  std::vector<T> cosine(phases.size()), sine(phases.size());
  const int64_t n = static_cast<int64_t>(phases.size());
  kernels.cosine(phases.data(), cosine.data(), n);
  kernels.sine(phases.data(), sine.data(), n);
  Errors errors;
  for (size_t i = 0; i < phases.size(); i++) {
    const Real angle = kTwoPi * (phases[i] - std::round(Real(phases[i])));
    errors.see(std::fabs(cosine[i] - std::cos(angle)), kCosineBound<T>);
    errors.see(std::fabs(sine[i] - std::sin(angle)), kCosineBound<T>);
  }
  return errors;
}

template <class T>
Errors map_errors(const Map<T>& map, const Expected<T>& expected, const KernelTable<T>& kernels) {
  const cerf::Model<T> model = map.model(kernels);
  Errors errors;
  for (const int64_t n : {5, 70}) {
    const std::vector<T> out = transformed(model, expected.X.data(), n, 1);
    for (size_t i = 0; i < out.size(); i++) {
      errors.see(std::fabs(out[i] - expected.features[i]), expected.bounds[i]);
    }
  }
  return errors;
}

template <class T, class Case>
Case with_amplitude_one(Case map) {
  std::fill(map.outputs.amplitudes.begin(), map.outputs.amplitudes.end(), 1.0);
  return map;
}

void print(const Errors& errors) {
  std::printf(" %.1Le (%.1Lf%%) |", errors.largest, 100 * errors.used);
}

template <class T>
void print_rows() {
  const auto dense = with_amplitude_one<T>(dense_case<T>(784, 128, Pairing::none));
  const auto shared = with_amplitude_one<T>(masked_case<T>(784, 128, 16, 4, false, Pairing::none));
  const auto single = with_amplitude_one<T>(masked_case<T>(784, 128, 1, 1, false, Pairing::none));
  const auto fastfood =
      with_amplitude_one<T>(fastfood_case<T>(512, 512, 1, false, false, false, Pairing::none));
  const Map<T>* const maps[] = {&dense, &shared, &single, &fastfood};
  std::vector<Expected<T>> expected;
  for (const Map<T>* map : maps) expected.push_back(expected_of(*map, 70));
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    std::printf("| %s | %s |", kTypeName<T>, kernels.level);
    print(cosine_errors(kernels));
    for (size_t i = 0; i < expected.size(); i++) print(map_errors(*maps[i], expected[i], kernels));
    std::printf("\n");
  });
}

}  // namespace

int main() {
  std::printf("| dtype | level | cosine, sine | dense | 16 a mask | independent | Fastfood |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  print_rows<float>();
  print_rows<double>();
  return 0;
}
