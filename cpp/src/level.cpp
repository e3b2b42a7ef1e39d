// All kernels of one instruction-set level. The build compiles this file once per level with
// CERF_LEVEL (a namespace) and CERF_VECTOR_BYTES set, and exports one table per dtype.
#include "cerf/kernel_table.h"
#include "kernels/chunked.h"
#include "kernels/cosine.h"
#include "kernels/hadamard.h"
#include "kernels/linear.h"
#include "kernels/panel.h"
#include "kernels/row.h"
#include "kernels/shared.h"
#include "kernels/sink.h"
#include "kernels/tables.h"

#define CERF_TEXT_OF(x) #x
#define CERF_TEXT(x) CERF_TEXT_OF(x)

namespace cerf::CERF_LEVEL {

template <class T, bool kSine>
void trigonometric(const T* phases, T* out, int64_t n) {
  constexpr int w = kLanes<T>;
  for (int64_t i = 0; i < n; i += w) {
    const size_t m = static_cast<size_t>(n - i < w ? n - i : w) * sizeof(T);
    T t[w] = {}, result[w];
    std::memcpy(t, phases + i, m);
    Vec<T> cosine, sine;
    if (kSine) {
      cosine_and_sine<T, kVectorBytes>(load_any<T>(t), cosine, sine);
      store_any<T>(result, sine);
    } else {
      store_any<T>(result, cosine_of_turns<T, kVectorBytes>(load_any<T>(t)));
    }
    std::memcpy(out + i, result, m);
  }
}

// Ten independent chains of multiply-adds: enough to hide the latency, few enough for registers.
template <class T>
__attribute__((noinline)) double fma_loop(int64_t n_rounds) {
  constexpr int chains = 10;
  Vec<T> sum[chains];
  CERF_UNROLL for (int i = 0; i < chains; i++)
    sum[i] = broadcast<T>(T(0.1) * T(i));
  Vec<T> factor = broadcast<T>(T(0.999)), term = broadcast<T>(T(0.001));
  __asm__ volatile("" : "+m"(factor), "+m"(term));
  const Vec<T> b = factor, c = term;
  for (int64_t round = 0; round < n_rounds; round++) {
    CERF_UNROLL for (int i = 0; i < chains; i++)
      sum[i] = sum[i] * b + c;
  }
  Vec<T> total{};
  CERF_UNROLL for (int i = 0; i < chains; i++)
    total += sum[i];
  volatile T keep = sum_lanes<T, kVectorBytes>(total);
  static_cast<void>(keep);
  return 2.0 * chains * kLanes<T>;
}

template <class T>
constexpr KernelTable<T> make_table() {
  return {.level = CERF_TEXT(CERF_LEVEL),
          .lanes = kLanes<T>,
          .fastfood_width = kLanes<T, kNarrowBytes>,
          .pack_panel = pack_panel<T>,
          .shared_panel = shared_panel<T>,
          .chunked_panel = chunked_panel<T>,
          .fastfood_panel = fastfood_panel<T>,
          .linear_panel = linear_panel<T>,
          .copy_row = copy_row<T>,
          .shared_row = shared_row<T>,
          .grouped_row = grouped_row<T>,
          .fastfood_row = fastfood_row<T>,
          .finish_row = finish_row<T>,
          .dot = dot_product<T>,
          .table_row = table_row<T>,
          .linear_row = linear_row<T>,
          .cosine = trigonometric<T, false>,
          .sine = trigonometric<T, true>,
          .walsh_hadamard = walsh_hadamard<T>,
          .fma_loop = fma_loop<T>};
}

extern const KernelTable<float> table_float;
extern const KernelTable<double> table_double;
const KernelTable<float> table_float = make_table<float>();
const KernelTable<double> table_double = make_table<double>();

}  // namespace cerf::CERF_LEVEL
