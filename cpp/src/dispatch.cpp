// Which levels this build has and this CPU can run.
#if defined(CERF_HAS_X86_LEVELS) && defined(__clang__)
#include <cpuid.h>
#endif

#include <cstring>

#include "cerf/kernel_table.h"
#include "cerf/training.h"

namespace cerf {

#define CERF_DECLARE(level)                      \
  namespace level {                              \
  extern const KernelTable<float> table_float;   \
  extern const KernelTable<double> table_double; \
  extern const TrainingTable training;           \
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
  const TrainingTable* training;
};

const Level kLevels[] = {
    {"baseline", &baseline::table_float, &baseline::table_double, &baseline::training},
#ifdef CERF_HAS_X86_LEVELS
    {"v3", &v3::table_float, &v3::table_double, &v3::training},
    {"v4", &v4::table_float, &v4::table_double, &v4::training},
#endif
};

#ifdef CERF_HAS_X86_LEVELS
#if defined(__clang__)
// Clang 14 has names for the features, but not for the levels and these three.
bool has_unnamed_features() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool basic =
      __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 && (c & bit_MOVBE) != 0;
  return basic && __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c & bit_LZCNT) != 0;
}
bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && has_unnamed_features();
}
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#else
bool has_v3() {
  return __builtin_cpu_supports("x86-64-v3");
}
bool has_v4() {
  return __builtin_cpu_supports("x86-64-v4");
}
#endif
#endif

int count_levels() {
#ifdef CERF_HAS_X86_LEVELS
  __builtin_cpu_init();
  if (has_v4()) return 3;
  if (has_v3()) return 2;
#endif
  return 1;
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

const TrainingTable* training_table(const char* level) {
  const Level* found = find_level(level);
  return found != nullptr ? found->training : nullptr;
}

}  // namespace cerf
