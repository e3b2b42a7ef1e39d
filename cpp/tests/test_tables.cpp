// Tables with a linear part, and features with one.
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>

#include "checks.h"
#include "reference_masked.h"
#include "reference_tables.h"
#include "tests.h"

namespace {

using namespace checks;

template <class T>
std::vector<T> scored(const cerf::TableModel<T>& model, const cerf::Input<T>& X, int n_threads) {
  std::vector<T> out(size_t(X.n_rows * model.n_scores()));
  if (!model.scores(X, out.data(), n_threads)) out.clear();
  return out;
}

template <class T>
void check_tables(const TableCase<T>& map, const std::vector<int64_t>& row_counts) {
  const int64_t D = map.linear.n_features;
  const std::vector<T> rows = map.rows(row_counts.back());
  std::vector<Real> exact, bounds;
  for (int64_t i = 0; i < row_counts.back(); i++) map.scores(rows.data() + i * D, exact, bounds);
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    const cerf::TableModel<T> model = map.model(kernels);
    for (const int64_t n : row_counts) {
      for (const Order order : kOrders) {
        const Strided<T> X(rows, n, D, order);
        const std::vector<T> out = scored(model, X.input(), 1);
        const Real ratio = worst_ratio(out, exact.data(), bounds.data());
        expect(out.size() == size_t(n * map.n_scores()) && ratio <= 1,
               "%s %s %s n=%d order=%d: %.3Lg times the bound", kernels.level, kTypeName<T>,
               map.name.c_str(), int(n), int(order), ratio);
      }
    }
  });
}

template <class T>
void sizes() {
  const std::vector<int64_t> few = {1, 5, 6, 33, 64, 65};
  for (const int32_t n_scores : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 100}) {
    check_tables(table_case<T>(13, 21, 64, n_scores), few);
  }
  for (const int32_t n_tables : {0, 1, 2, 15, 16, 17, 47, 48, 49, 100}) {
    for (const int32_t n_scores : {1, 7})
      check_tables(table_case<T>(9, n_tables, 8, n_scores), few);
  }
  for (const int32_t n_bins : {2, 3, 256, 65536}) {
    check_tables(table_case<T>(5, 3, n_bins, 1), few);
    check_tables(table_case<T>(5, 3, n_bins, 2), few);
  }
  // One score: tables that fill registers, or one bin more.
  for (const int32_t n_bins : {7, 8, 9, 15, 16, 17, 31, 32, 33, 65, 127, 128, 129, 255, 257}) {
    check_tables(table_case<T>(5, 18, n_bins, 1), few);
  }
  // Inputs that only tables, only the linear part, or neither reads; several chunks; one input.
  check_tables(table_case<T>(150, 11, 16, 3, 40, 120), few);
  check_tables(table_case<T>(150, 11, 16, 3, 40, 150), few);
  check_tables(table_case<T>(150, 11, 16, 3, 0, 140), few);
  check_tables(table_case<T>(500, 11, 16, 3), {2, 67});
  check_tables(table_case<T>(1, 4, 4, 1), few);
  // More inputs than the chunked layout can number.
  check_tables(table_case<T>(66000, 3, 8, 2, 200, 65990), {1, 7});
}

template <class T>
void bits() {
  constexpr int64_t n = 3 * 128 + 70, D = 37;
  for (const int32_t n_scores : {1, 7}) {
    const TableCase<T> map = table_case<T>(D, 61, 64, n_scores);
    std::vector<T> X = map.rows(n);
    Random random(3);
    for (T& x : X) x += static_cast<T>(random.symmetric()) / 3;  // phases that round
    for_each_level<T>([&](const KernelTable<T>& kernels) {
      const cerf::TableModel<T> model = map.model(kernels);
      const std::vector<T> once = scored(model, {X.data(), n, D, D, 1}, 1);
      for (const int n_threads : {2, 3}) {
        const std::vector<T> out = scored(model, {X.data(), n, D, D, 1}, n_threads);
        expect(out == once, "%s %s %s: %d threads give other bits", kernels.level, kTypeName<T>,
               map.name.c_str(), n_threads);
      }
      std::vector<T> joined = scored(model, {X.data(), 71, D, D, 1}, 1);
      const std::vector<T> rest = scored(model, {X.data() + 71 * D, n - 71, D, D, 1}, 1);
      joined.insert(joined.end(), rest.begin(), rest.end());
      expect(joined == once, "%s %s %s: cut rows give other bits", kernels.level, kTypeName<T>,
             map.name.c_str());
    });
  }
}

// The largest inputs overflow phases both ways: some row of each table is taken, none beyond it.
template <class T>
void huge_and_not_finite() {
  constexpr int64_t D = 12;
  for (const int32_t n_scores : {1, 7}) {
    TableCase<T> map = table_case<T>(D, 40, 16, n_scores, D, D);
    Real most = 1;
    for (const double entry : map.tables) most = std::max<Real>(most, std::fabs(entry));
    for_each_level<T>([&](const KernelTable<T>& kernels) {
      const cerf::TableModel<T> model = map.model(kernels);
      for (const int64_t n : {1, 14, 70}) {
        std::vector<T> X(size_t(n * D));
        Random random(uint64_t(n) + 5);
        for (T& x : X) x = (random.below(2) == 0 ? 1 : -1) * std::numeric_limits<T>::max();
        bool legal = true;
        for (const T value : scored(model, {X.data(), n, D, D, 1}, 1)) {
          legal = legal && std::fabs(value) <= 42 * most;
        }
        expect(legal, "%s %s %s n=%d: huge inputs", kernels.level, kTypeName<T>, map.name.c_str(),
               int(n));
        X[size_t(n * D / 2)] = std::numeric_limits<T>::quiet_NaN();
        expect(scored(model, {X.data(), n, D, D, 1}, 1).empty(), "%s %s %s n=%d: NaN went through",
               kernels.level, kTypeName<T>, map.name.c_str(), int(n));
      }
    });
  }
}

// features @ coef.T + X @ linear + intercept, for maps of every structure.
template <class T>
void check_linear(const Map<T>& map, int32_t first, int32_t n_scores) {
  const std::vector<int64_t> row_counts = {1, 5, 6, 24, 64, 70};
  const Expected<T> expected = expected_of(map, row_counts.back());
  const size_t K = size_t(map.outputs.n_outputs), D = size_t(map.n_features);
  Random random(uint64_t(n_scores) + 11);
  std::vector<T> coef(size_t(n_scores) * K), intercept(static_cast<size_t>(n_scores));
  for (T& value : coef) value = static_cast<T>(random.symmetric());
  for (T& value : intercept) value = static_cast<T>(random.symmetric());
  const LinearCase<T> part =
      LinearCase<T>::drawn(map.n_features, n_scores, std::min(first, map.n_features), 2, random);
  std::vector<Real> exact, bounds;
  for (size_t i = 0; i < size_t(row_counts.back()); i++) {
    for (size_t c = 0; c < size_t(n_scores); c++) {
      Real sum = intercept[c], size = std::fabs(sum), error = 0;
      for (size_t k = 0; k < K; k++) {
        const Real term = coef[c * K + k] * expected.features[i * K + k];
        sum += term;
        size += std::fabs(term);
        error += std::fabs(Real(coef[c * K + k])) * expected.bounds[i * K + k];
      }
      part.add(int64_t(c), expected.X.data() + i * D, sum, size);
      exact.push_back(sum);
      bounds.push_back(error + kUnit<T> * Real(int64_t(K) + part.n_terms(int64_t(c)) + 4) * size);
    }
  }
  const cerf::Linear<T> linear(part.map());
  const cerf::Head<T> head{coef.data(), intercept.data(), n_scores, &linear};
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    const cerf::Model<T> model = map.model(kernels);
    for (const int64_t n : row_counts) {
      const Strided<T> X(expected.X, n, map.n_features, Order::rows);
      std::vector<T> out(static_cast<size_t>(n * n_scores));
      const bool finite = model.scores(X.input(), head, out.data(), 1);
      const Real ratio = worst_ratio(out, exact.data(), bounds.data());
      expect(finite && ratio <= 1, "%s %s %s n=%d: %d scores and a linear part, %.3Lg times",
             kernels.level, kTypeName<T>, map.name.c_str(), int(n), n_scores, ratio);
    }
  });
}

template <class T>
void linear_parts() {
  for (const int32_t n_scores : {1, 5, 9}) {
    check_linear(dense_case<T>(17, 13, Pairing::odd), 3, n_scores);
    for (const int32_t per_mask : {1, 7}) {
      check_linear(masked_case<T>(33, 19, per_mask, 1, false, Pairing::none), 0, n_scores);
      // The linear part reads inputs that no mask reads.
      check_linear(spread_case(masked_case<T>(9, 15, per_mask, 1, false, Pairing::odd), 120,
                               places_of(9, 3, 5)),
                   30, n_scores);
    }
    check_linear(relu(masked_case<T>(33, 19, 1, 1, false, Pairing::none)), 0, n_scores);
  }
}

bool refused(const std::string& text, const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return std::string(error.what()).find(text) != std::string::npos;
  }
  return false;
}

template <class Change>
void expect_refused(const std::string& text, Change change) {
  TableCase<double> map = table_case<double>(9, 7, 8, 3);
  change(map);
  expect(refused(text, [&] { map.model(*cerf::kernel_table<double>("baseline")); }),
         "%s is not refused: %s", map.name.c_str(), text.c_str());
}

// (The messages, case by case: tests/native/test_tables.py.)
void refusals() {
  using Case = TableCase<double>;
  expect_refused("below n_features", [](Case& m) { m.mask_inputs[0] = -1; });
  expect_refused("below n_features", [](Case& m) { m.mask_inputs.back() = 9; });
  expect_refused("below n_features", [](Case& m) { m.linear.inputs[0] = 9; });
  expect_refused("mask_pointers", [](Case& m) { m.mask_pointers[1] = int64_t(1) << 40; });
  expect_refused("linear_pointers", [](Case& m) { m.linear.pointers[1] = int64_t(1) << 40; });
  expect_refused("linear_pointers", [](Case& m) { m.linear.pointers.pop_back(); });
  expect_refused("(n_tables, n_bins, n_scores)", [](Case& m) { m.tables.pop_back(); });
  expect_refused("n_bins", [](Case& m) { m.n_bins = 65537; });
  expect_refused("n_bins", [](Case& m) { m.n_bins = 1; });
  expect_refused("finite", [](Case& m) { m.tables[5] = HUGE_VAL; });
  const Case map = table_case<double>(9, 7, 8, 3);
  const cerf::TableModel<double> model = map.model(*cerf::kernel_table<double>("baseline"));
  std::vector<double> memory(40);
  expect(refused("shares memory",
                 [&] { model.scores({memory.data(), 3, 9, 9, 1}, memory.data() + 26, 1); }),
         "an output that shares memory with X is not refused");
}

}  // namespace

void test_tables() {
  refusals();
  sizes<float>();
  sizes<double>();
  bits<float>();
  bits<double>();
  huge_and_not_finite<float>();
  huge_and_not_finite<double>();
  linear_parts<float>();
  linear_parts<double>();
}
