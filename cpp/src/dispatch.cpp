// Which levels this build has and this CPU can run.
#include <cstring>

#include "cerf/kernel_table.h"

namespace cerf {

#define CERF_DECLARE(level)                      \
  namespace level {                              \
  extern const KernelTable<float> table_float;   \
  extern const KernelTable<double> table_double; \
  }
CERF_DECLARE(baseline)
#ifdef CERF_HAS_X86_LEVELS
CERF_DECLARE(v3)
CERF_DECLARE(v4)
#endif

namespace {

struct Level {
  const char* name;
  const KernelTable<float>* table_float;
  const KernelTable<double>* table_double;
};

const Level kLevels[] = {
    {"baseline", &baseline::table_float, &baseline::table_double},
#ifdef CERF_HAS_X86_LEVELS
    {"v3", &v3::table_float, &v3::table_double},
    {"v4", &v4::table_float, &v4::table_double},
#endif
};

int count_levels() {
  int n = 1;
#ifdef CERF_HAS_X86_LEVELS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v3")) n = 2;
  if (__builtin_cpu_supports("x86-64-v4")) n = 3;
#endif
  return n;
}

const Level* find_level(const char* name) {
  for (int i = 0; i < n_levels(); i++) {
    if (std::strcmp(kLevels[i].name, name) == 0) return &kLevels[i];
  }
  return nullptr;
}

}  // namespace

int n_levels() {
  static const int n = count_levels();
  return n;
}
const char* level_name(int index) {
  return kLevels[index].name;
}

template <>
const KernelTable<float>* kernel_table<float>(const char* level) {
  const Level* found = find_level(level);
  return found != nullptr ? found->table_float : nullptr;
}
template <>
const KernelTable<double>* kernel_table<double>(const char* level) {
  const Level* found = find_level(level);
  return found != nullptr ? found->table_double : nullptr;
}

}  // namespace cerf
