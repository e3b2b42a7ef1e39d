// What every map must satisfy, at every level that this CPU can run: values, bits, orders of the
// input, scores, numbers that are not finite.
//
// X, out, coef and intercept are heap arrays of the exact size, so that the address sanitizer sees
// any access beyond them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "cerf/features.h"
#include "cerf/output_memory.h"
#include "expect.h"
#include "reference.h"

namespace checks {

using namespace reference;
using expectations::expect;

template <class T>
constexpr const char* kTypeName = sizeof(T) == 4 ? "float" : "double";

// The first rows of X in an array of exactly the size that the strides reach.
enum class Order { rows, columns, padded_rows, every_second, reversed };
constexpr Order kOrders[] = {Order::rows, Order::columns, Order::padded_rows, Order::every_second,
                             Order::reversed};

template <class T>
class Strided {
 public:
  Strided(const std::vector<T>& X, int64_t n_rows, int64_t D, Order order) {
    int64_t row = D, column = 1;
    if (order == Order::columns) row = 1, column = n_rows;
    if (order == Order::padded_rows) row = D + 3;
    if (order == Order::every_second) row = 2 * D + 1, column = 2;
    const bool reversed = order == Order::reversed;
    values_ = std::vector<T>(static_cast<size_t>((n_rows - 1) * row + (D - 1) * column + 1));
    T* first = reversed ? values_.data() + (values_.size() - 1) : values_.data();
    if (reversed) row = -row, column = -column;
    for (int64_t i = 0; i < n_rows; i++) {
      for (int64_t d = 0; d < D; d++) first[i * row + d * column] = X[size_t(i * D + d)];
    }
    input_ = {first, n_rows, D, row, column};
  }
  const cerf::Input<T>& input() const { return input_; }

 private:
  std::vector<T> values_;
  cerf::Input<T> input_;
};

// Largest error as a multiple of its bound; NaN counts as infinite.
template <class T>
Real worst_ratio(const std::vector<T>& out, const Real* exact, const Real* bounds) {
  Real worst = 0;
  for (size_t i = 0; i < out.size(); i++) {
    const Real ratio = std::fabs(out[i] - exact[i]) / bounds[i];
    if (!(ratio <= worst)) worst = std::isnan(ratio) ? HUGE_VALL : ratio;
  }
  return worst;
}

template <class T, class Body>
void for_each_level(Body body) {
  for (int level = 0; level < cerf::n_levels(); level++) {
    body(*cerf::kernel_table<T>(cerf::level_name(level)));
  }
}

template <class T>
void check_transform(const Map<T>& map, const std::vector<int64_t>& row_counts, bool all_orders) {
  const Expected<T> expected = expected_of(map, row_counts.back());
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    const cerf::Model<T> model = map.model(kernels);
    for (const int64_t n : row_counts) {
      for (const Order order : kOrders) {
        if (!all_orders && order > Order::columns) continue;
        const Strided<T> X(expected.X, n, map.n_features, order);
        std::vector<T> out(static_cast<size_t>(n * model.n_outputs()));
        const bool finite = model.transform(X.input(), out.data(), 1);
        const Real ratio = worst_ratio(out, expected.features.data(), expected.bounds.data());
        expect(finite && ratio <= 1, "%s %s %s K=%d%s n=%d order=%d: %.3Lg times the bound",
               kernels.level, kTypeName<T>, map.name.c_str(), model.n_outputs(),
               map.outputs.paired ? " paired" : "", int(n), int(order), ratio);
      }
    }
  });
}

// features @ coef.T + intercept adds u (K + 2) (sum |coef feature| + |intercept|).
template <class T>
void check_scores(const Map<T>& map, const std::vector<int64_t>& row_counts, int32_t most_scores) {
  const Expected<T> expected = expected_of(map, row_counts.back());
  const size_t K = size_t(map.outputs.n_outputs), n_rows = size_t(row_counts.back());
  for (int32_t n_scores = 1; n_scores <= most_scores; n_scores++) {
    Random random(static_cast<uint64_t>(n_scores));
    std::vector<T> coef(size_t(n_scores) * K), intercept(static_cast<size_t>(n_scores));
    for (T& value : coef) value = static_cast<T>(random.symmetric());
    for (T& value : intercept) value = static_cast<T>(random.symmetric());
    std::vector<Real> exact, bounds;
    for (size_t i = 0; i < n_rows; i++) {
      for (size_t c = 0; c < size_t(n_scores); c++) {
        Real sum = intercept[c], size = std::fabs(sum), error = 0;
        for (size_t k = 0; k < K; k++) {
          const Real term = coef[c * K + k] * expected.features[i * K + k];
          sum += term;
          size += std::fabs(term);
          error += std::fabs(Real(coef[c * K + k])) * expected.bounds[i * K + k];
        }
        exact.push_back(sum);
        bounds.push_back(error + kUnit<T> * Real(K + 2) * size);
      }
    }
    const cerf::Head<T> head{coef.data(), intercept.data(), n_scores};
    for_each_level<T>([&](const KernelTable<T>& kernels) {
      const cerf::Model<T> model = map.model(kernels);
      for (const int64_t n : row_counts) {
        const Strided<T> X(expected.X, n, map.n_features, Order::rows);
        std::vector<T> out(static_cast<size_t>(n * n_scores));
        const bool finite = model.scores(X.input(), head, out.data(), 1);
        const Real ratio = worst_ratio(out, exact.data(), bounds.data());
        expect(finite && ratio <= 1, "%s %s %s n=%d: %d scores, %.3Lg times the bound",
               kernels.level, kTypeName<T>, map.name.c_str(), int(n), n_scores, ratio);
      }
    });
  }
}

// One bad value at any place is refused, by the one-row and by the batch form.
template <class T>
void check_non_finite(const Map<T>& map, const std::vector<int64_t>& row_counts) {
  const Expected<T> expected = expected_of(map, row_counts.back());
  const T bad[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                   -std::numeric_limits<T>::infinity()};
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    const cerf::Model<T> model = map.model(kernels);
    for (const int64_t n : row_counts) {
      std::vector<T> out(static_cast<size_t>(n * model.n_outputs())), X(expected.X);
      bool refused = true;
      for (int64_t at = 0; at < n * map.n_features; at++) {
        const T before = X[size_t(at)];
        X[size_t(at)] = bad[at % 3];
        for (const Order order : {Order::rows, Order::columns}) {
          const Strided<T> strided(X, n, map.n_features, order);
          refused = refused && !model.transform(strided.input(), out.data(), 1);
        }
        X[size_t(at)] = before;
      }
      expect(refused, "%s %s %s n=%d: a value that is not finite went through", kernels.level,
             kTypeName<T>, map.name.c_str(), int(n));
    }
  });
}

// The largest finite inputs overflow the phase: the result must still be a bounded number, or one
// that is positive or infinite, but not NaN, if the map is relu.
template <class T>
void check_huge_inputs(const Map<T>& map) {
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    const cerf::Model<T> model = map.model(kernels);
    for (const int64_t n : {1, 14}) {
      std::vector<T> X(size_t(n * map.n_features)), out(size_t(n * model.n_outputs()));
      for (size_t i = 0; i < X.size(); i++) {
        X[i] = (i % 2 == 0 ? 1 : -1) * std::numeric_limits<T>::max();
      }
      bool legal = model.transform({X.data(), n, map.n_features, map.n_features, 1}, out.data(), 1);
      for (const T value : out) {
        legal = legal && (map.outputs.relu ? value >= 0 : std::fabs(value) <= 1);
      }
      expect(legal, "%s %s %s n=%d: huge inputs", kernels.level, kTypeName<T>, map.name.c_str(),
             int(n));
    }
  });
}

template <class T>
std::vector<T> transformed(const cerf::Model<T>& model, const T* X, int64_t n, int n_threads) {
  const int64_t D = model.n_features();
  std::vector<T> out(static_cast<size_t>(n * model.n_outputs()));
  if (!model.transform({X, n, D, D, 1}, out.data(), n_threads)) out.clear();
  return out;
}

// Equal bits for any number of threads, and for a batch cut into batches.
template <class T>
void check_equal_bits(const Map<T>& map) {
  constexpr int64_t n = 3 * 128 + 70;  // enough for three threads
  const std::vector<T> X = expected_of(map, n).X;
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    const cerf::Model<T> model = map.model(kernels);
    const std::vector<T> once = transformed(model, X.data(), n, 1);
    const auto same = [](const std::vector<T>& a, const std::vector<T>& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
    };
    for (const int n_threads : {2, 3}) {
      expect(same(once, transformed(model, X.data(), n, n_threads)),
             "%s %s %s: %d threads give other bits", kernels.level, kTypeName<T>, map.name.c_str(),
             n_threads);
    }
    std::vector<T> joined;
    int64_t first = 0;
    const int64_t smallest = model.one_row_below();  // fewer rows take the one-row form
    for (const int64_t end : {smallest, 2 * smallest + 1, 3 * smallest + 65, n}) {
      const std::vector<T> part =
          transformed(model, X.data() + first * map.n_features, end - first, 1);
      joined.insert(joined.end(), part.begin(), part.end());
      first = end;
    }
    expect(same(once, joined), "%s %s %s: cut rows give other bits", kernels.level, kTypeName<T>,
           map.name.c_str());
  });
}

// Calls side by side on a fresh model, whose one-row layout is built on first use.
template <class T>
void check_concurrent_calls(const Map<T>& map) {
  const std::vector<T> X = expected_of(map, 40).X;
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    const cerf::Model<T> reference = map.model(kernels), model = map.model(kernels);
    const std::vector<T> row = transformed(reference, X.data(), 1, 1);
    const std::vector<T> batch = transformed(reference, X.data(), 40, 1);
    bool equal[3] = {};
    std::vector<std::thread> threads;
    for (bool& result : equal) {
      threads.emplace_back([&] {
        result = model.n_bytes() > 0 && transformed(model, X.data(), 1, 1) == row &&
                 transformed(model, X.data(), 40, 1) == batch;
      });
    }
    for (std::thread& thread : threads) thread.join();
    expect(equal[0] && equal[1] && equal[2], "%s %s %s: concurrent calls differ", kernels.level,
           kTypeName<T>, map.name.c_str());
  });
}

// Outputs too large for the caches, written past them, have the bits of small ones.
template <class T>
void check_large_output(const Map<T>& map) {
  constexpr int64_t period = 454;
  const int64_t row_bytes = map.outputs.n_outputs * int64_t(sizeof(T));
  const int64_t n = (int64_t(33) << 20) / row_bytes + 5, D = map.n_features;
  const std::vector<T> some = expected_of(map, period).X;
  std::vector<T> X(size_t(n * D));
  for (size_t i = 0; i < X.size(); i++) X[i] = some[i % some.size()];
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    const cerf::Model<T> model = map.model(kernels);
    const std::vector<T> rows = transformed(model, some.data(), period, 1);
    for (const int n_threads : {1, 3}) {
      const cerf::OutputMemory memory(n * row_bytes);
      char* const out = static_cast<char*>(memory.data());
      bool same = model.transform({X.data(), n, D, D, 1}, reinterpret_cast<T*>(out), n_threads);
      for (int64_t first = 0; same && first < n; first += period) {
        const int64_t n_bytes = std::min(period, n - first) * row_bytes;
        same = std::memcmp(out + first * row_bytes, rows.data(), size_t(n_bytes)) == 0;
      }
      expect(same, "%s %s %s: a large output has other bits", kernels.level, kTypeName<T>,
             map.name.c_str());
    }
  });
}

// Everything above, at every number of rows around the panel widths and the one-row form.
template <class T>
void check_all(const Map<T>& map) {
  std::vector<int64_t> every;
  for (int64_t n = 1; n <= 70; n++) every.push_back(n);
  check_transform(map, every, false);
  check_scores(map, {1, 2, 12, 33, 64, 65}, 13);
  check_non_finite(map, {1, 3, 14, 35});
  check_huge_inputs(map);
  check_equal_bits(map);
  check_concurrent_calls(map);
}

// Around the panel widths and around the switch from the one-row to the batch form.
inline const std::vector<int64_t> kFewRows = {1, 5, 6, 11, 12, 13, 23, 24, 31, 32, 33, 63, 64, 65};

}  // namespace checks
