// Tests of the core against long double, for every level that this CPU can run. No framework.
//
// X, out, coef and intercept are heap arrays of the exact size, so that the address sanitizer sees
// any access beyond them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "cerf/features.h"
#include "cerf/output_memory.h"
#include "expect.h"
#include "reference.h"

namespace {

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
    const cerf::Model<T> model = model_of(map, kernels);
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
      const cerf::Model<T> model = model_of(map, kernels);
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
    const cerf::Model<T> model = model_of(map, kernels);
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
// that is positive or infinite, but not NaN, if the map is rectified.
template <class T>
void check_huge_inputs(const Map<T>& map) {
  for_each_level<T>([&](const KernelTable<T>& kernels) {
    const cerf::Model<T> model = model_of(map, kernels);
    for (const int64_t n : {1, 14}) {
      std::vector<T> X(size_t(n * map.n_features)), out(size_t(n * model.n_outputs()));
      for (size_t i = 0; i < X.size(); i++) {
        X[i] = (i % 2 == 0 ? 1 : -1) * std::numeric_limits<T>::max();
      }
      bool legal = model.transform({X.data(), n, map.n_features, map.n_features, 1}, out.data(), 1);
      for (const T value : out) {
        legal = legal && (map.outputs.rectified ? value >= 0 : std::fabs(value) <= 1);
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
    const cerf::Model<T> model = model_of(map, kernels);
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
    const cerf::Model<T> reference = model_of(map, kernels), model = model_of(map, kernels);
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
    const cerf::Model<T> model = model_of(map, kernels);
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
