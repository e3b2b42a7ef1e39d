// Fastfood maps.
#include "checks.h"
#include "reference_fastfood.h"
#include "tests.h"

namespace {

using namespace checks;

template <class T>
void odd_sizes() {
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
void everything() {
  check_all(fastfood_case<T>(11, 16, 3, false, true, true, Pairing::none));
  check_all(fastfood_case<T>(16, 16, 2, true, false, false, Pairing::odd));
}

template <class T>
void large_outputs() {
  check_large_output(fastfood_case<T>(8, 8, 12, false, true, false, Pairing::paired));
}

}  // namespace

void test_fastfood() {
  odd_sizes<float>();
  odd_sizes<double>();
  everything<float>();
  everything<double>();
  large_outputs<float>();
  large_outputs<double>();
}
