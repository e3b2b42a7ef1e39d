#include "cerf/threads.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <thread>

namespace cerf {
namespace {

std::atomic<int> cap{0}, default_cap{0};

}  // namespace

// The affinity mask; std::thread::hardware_concurrency may count all cores of the machine.
int usable_cores() {
#if defined(__linux__)
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int get_num_threads() {
  const int set = cap.load(), by_default = default_cap.load();
  if (set > 0) return set;
  return by_default > 0 ? by_default : usable_cores();
}
void set_num_threads(int n_threads) {
  cap.store(std::max(0, n_threads));
}
void set_default_num_threads(int n_threads) {
  default_cap.store(std::max(0, n_threads));
}

}  // namespace cerf
