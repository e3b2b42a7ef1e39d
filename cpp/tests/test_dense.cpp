// Dense maps.
#include "checks.h"
#include "reference_masked.h"
#include "tests.h"

namespace {

using namespace checks;

template <class T>
void odd_sizes() {
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
void everything() {
  check_all(dense_case<T>(19, 27, Pairing::odd));
}

// Of whole cache lines a row, which are written past the caches, and of others.
template <class T>
void large_outputs() {
  check_large_output(dense_case<T>(3, 128, Pairing::none));
  check_large_output(dense_case<T>(3, 127, Pairing::none));
}

}  // namespace

void test_dense() {
  odd_sizes<float>();
  odd_sizes<double>();
  everything<float>();
  everything<double>();
  large_outputs<float>();
  large_outputs<double>();
}
