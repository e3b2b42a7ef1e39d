// Maps whose arrays do not fit, and outputs that share memory with inputs, are refused. (The
// messages, case by case: tests/native/test_errors.py.)
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "cerf/features.h"
#include "checks.h"
#include "reference_fastfood.h"
#include "reference_masked.h"
#include "tests.h"

namespace {

using namespace checks;

// Whether a call is refused by std::invalid_argument with a message that has `text`.
bool refused(const std::string& text, const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return std::string(error.what()).find(text) != std::string::npos;
  }
  return false;
}

template <class Case, class Change>
void expect_refused(Case map, const std::string& text, Change change) {
  const auto& kernels = *cerf::kernel_table<double>("baseline");
  map.model(kernels);
  change(map);
  expect(refused(text, [&] { map.model(kernels); }), "%s is not refused: %s", map.name.c_str(),
         text.c_str());
}

void masked_maps() {
  using Case = MaskedCase<double>;
  const Case map = masked_case<double>(21, 25, 5, 2, false, Pairing::none);
  expect_refused(map, "n_features", [](Case& m) { m.n_features = 0; });
  expect_refused(map, "n_features", [](Case& m) { m.n_features = 1 << 24; });
  expect_refused(map, "below n_features", [](Case& m) { m.mask_inputs[0] = -1; });
  expect_refused(map, "ascending", [](Case& m) { m.mask_inputs[1] = m.mask_inputs[0]; });
  expect_refused(map, "n_masks + 1", [](Case& m) { m.mask_pointers.pop_back(); });
  expect_refused(map, "start at 0", [](Case& m) { m.mask_pointers.back()++; });
  expect_refused(map, "ascend", [](Case& m) { m.mask_pointers[1] = int64_t(1) << 40; });
  expect_refused(map, "values must hold", [](Case& m) { m.values.push_back(0); });
  expect_refused(map, "finite", [](Case& m) { m.values[3] = std::nan(""); });
  expect_refused(map, "group_size", [](Case& m) { m.group_size = 3; });
  expect_refused(map, "differ in length", [](Case& m) { m.outputs.amplitudes.pop_back(); });
  // Equal to the number of projections in the last 32 bits alone.
  expect_refused(map, "n_outputs", [](Case& m) { m.outputs.n_outputs += int64_t(1) << 32; });
  expect_refused(map, "no sine", [](Case& m) {
    m.outputs.paired = m.outputs.relu = true;
    m.outputs.n_outputs *= 2;
  });
}

void fastfood_maps() {
  using Case = FastfoodCase<double>;
  const Case map = fastfood_case<double>(11, 16, 3, false, true, true, Pairing::none);
  expect_refused(map, "padded size", [](Case& m) { m.n_features = 17; });
  expect_refused(map, "permutation", [](Case& m) { m.permutation[5] = 16; });
  expect_refused(map, "kept_rows", [](Case& m) { m.kept_rows[0] = -1; });
  expect_refused(map, "every projection", [](Case& m) { m.kept_pointers.pop_back(); });
  expect_refused(map, "ascend", [](Case& m) { m.kept_pointers[1] = int64_t(1) << 32; });
  expect_refused(map, "centres", [](Case& m) { m.centres[0] = HUGE_VAL; });
}

// Every place of `out` around X in one array: refused exactly where the two overlap.
template <class T>
void shared_memory() {
  const MaskedCase<T> map = dense_case<T>(3, 4, Pairing::none);
  const cerf::Model<T> model = map.model(*cerf::kernel_table<T>("baseline"));
  constexpr int64_t n = 5, x_size = 3 * n, out_size = 4 * n;
  std::vector<T> memory(size_t(out_size + x_size + out_size));
  for (int64_t at = 0; at <= out_size + x_size; at++) {
    T* const X = memory.data() + out_size;
    T* const out = memory.data() + at;
    const bool apart = out + out_size <= X || out >= X + x_size;
    for (const bool reversed : {false, true}) {
      const cerf::Input<T> input{reversed ? X + x_size - 1 : X, n, 3, reversed ? -3 : 3,
                                 reversed ? -1 : 1};
      expect(refused("shares memory", [&] { model.transform(input, out, 1); }) != apart,
             "out at %d of X at %d", int(at), int(out_size));
    }
  }
  T* const coef = memory.data();  // (2, 4)
  std::vector<T> X(x_size), out(2 * n), intercept(2);
  const cerf::Input<T> input{X.data(), n, 3, 3, 1};
  const auto scores = [&](T* place, T* biases, int64_t n_scores) {
    model.scores(input, {coef, biases, n_scores}, place, 1);
  };
  expect(refused("shares memory", [&] { scores(coef + 7, intercept.data(), 2); }), "out is coef");
  expect(refused("shares memory", [&] { scores(out.data(), out.data() + 8, 2); }),
         "out is the intercept");
  expect(!refused("", [&] { scores(out.data(), intercept.data(), 2); }), "arrays of their own");
  expect(refused("n_scores", [&] { scores(out.data(), intercept.data(), int64_t(1) << 32); }) &&
             refused("n_scores", [&] { scores(out.data(), intercept.data(), (1 << 24) + 1); }),
         "too many scores");
}

}  // namespace

void test_validation() {
  masked_maps();
  fastfood_maps();
  shared_memory<float>();
  shared_memory<double>();
}
