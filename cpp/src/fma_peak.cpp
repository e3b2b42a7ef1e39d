#include "cerf/fma_peak.h"

#include <algorithm>
#include <chrono>

namespace cerf {

template <class T>
double fma_peak(const KernelTable<T>& kernels) {
  constexpr int64_t n_rounds = 1000000;
  double best = 0;
  for (int repeat = 0; repeat < 20; repeat++) {
    const auto start = std::chrono::steady_clock::now();
    const double flops = kernels.fma_loop(n_rounds) * n_rounds;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, flops / seconds.count() / 1e9);
  }
  return best;
}

template double fma_peak(const KernelTable<float>&);
template double fma_peak(const KernelTable<double>&);

}  // namespace cerf
