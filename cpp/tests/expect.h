// Counts what holds and what does not.
#pragma once

#include <cstdarg>
#include <cstdio>

namespace expectations {

inline int n_passed = 0, n_failed = 0;

__attribute__((format(printf, 2, 3))) inline void expect(bool holds, const char* format, ...) {
  (holds ? n_passed : n_failed)++;
  if (holds || n_failed > 30) return;
  va_list arguments;
  va_start(arguments, format);
  std::fputs("FAILED: ", stdout);
  std::vprintf(format, arguments);
  std::fputs("\n", stdout);
  va_end(arguments);
}

// Prints the counts; what a program with these tests returns.
inline int summary() {
  std::printf("%d passed, %d failed\n", n_passed, n_failed);
  return n_failed == 0 ? 0 : 1;
}

}  // namespace expectations
