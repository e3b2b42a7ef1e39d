// Masked maps: shared and independent masks, relu ones, inputs that no mask reads.
#include "checks.h"
#include "reference_masked.h"
#include "tests.h"

namespace {

using namespace checks;

template <class T>
void odd_sizes() {
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
void relu_sizes() {
  Random random(13);
  for (const int32_t size : {1, 2, 5, 8, 15, 16, 17, 31, 33, 65}) {
    check_transform(relu(dense_case<T>(size, 13, Pairing::none)), kFewRows, false);
    check_transform(relu(full_mask_case<T>(17, size)), kFewRows, false);
  }
  for (const int32_t group_size : {1, 2, 4, 8, 16}) {
    for (const int32_t per_mask : {1, 2, 3, 7, 17}) {
      const int32_t n_projections = 1 + random.below(40);
      check_transform(
          relu(masked_case<T>(33, n_projections, per_mask, group_size, true, Pairing::none)),
          {1, 13, 64, 65}, random.below(3) == 0);
    }
    check_transform(relu(masked_case<T>(500, 9, 1, group_size, true, Pairing::none)), {2, 67},
                    false);
  }
}

// Panels hold only what is read: lines of the input with some, all or none of it, at any place.
template <class T>
void unread_inputs() {
  for (const int32_t per_mask : {1, 7}) {
    for (const int32_t first : {0, 3, 16, 40}) {
      for (const int32_t step : {1, 2, 9, 23}) {
        const MaskedCase<T> map = masked_case<T>(9, 15, per_mask, 1, false, Pairing::odd);
        const int32_t n_features = first + 8 * step + 1;
        for (const int32_t more : {0, 1, 33}) {
          check_transform(spread_case(map, n_features + more, places_of(9, first, step)),
                          {1, 13, 24, 64, 70}, true);
        }
      }
    }
  }
  check_all(spread_case(masked_case<T>(5, 25, 1, 1, true, Pairing::none), 61, places_of(5, 17, 7)));
  check_all(spread_case(masked_case<T>(6, 26, 8, 2, false, Pairing::odd), 45, places_of(6, 36, 1)));
  check_all(
      spread_case(relu(masked_case<T>(5, 12, 4, 1, false, Pairing::none)), 40, places_of(5, 0, 8)));
}

template <class T>
void everything() {
  check_all(masked_case<T>(21, 25, 1, 2, true, Pairing::none));
  check_all(masked_case<T>(21, 11, 1, 8, false, Pairing::odd));
  check_all(masked_case<T>(18, 26, 8, 4, false, Pairing::paired));
  check_all(relu(full_mask_case<T>(19, 27)));
  check_all(relu(masked_case<T>(21, 25, 1, 2, true, Pairing::none)));
  check_all(relu(masked_case<T>(21, 11, 1, 8, false, Pairing::none)));
  check_all(relu(masked_case<T>(18, 26, 8, 4, false, Pairing::none)));
}

template <class T>
void large_outputs() {
  check_large_output(masked_case<T>(9, 64, 1, 1, false, Pairing::none));
  check_large_output(masked_case<T>(18, 64, 16, 4, false, Pairing::paired));
  check_large_output(relu(masked_case<T>(18, 64, 16, 4, false, Pairing::none)));
}

}  // namespace

void test_masked() {
  odd_sizes<float>();
  odd_sizes<double>();
  relu_sizes<float>();
  relu_sizes<double>();
  unread_inputs<float>();
  unread_inputs<double>();
  everything<float>();
  everything<double>();
  large_outputs<float>();
  large_outputs<double>();
}
