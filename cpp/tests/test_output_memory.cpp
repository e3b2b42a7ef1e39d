// Memory of outputs: aligned, used again, never by two, and within its limit.
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "cerf/output_memory.h"
#include "expect.h"
#include "tests.h"

using expectations::expect;

void test_output_memory() {
  constexpr int64_t size = int64_t(5) << 20, limit = int64_t(256) << 20;
  cerf::set_kept_output_limit(0);
  expect(cerf::kept_output_bytes() == 0, "a limit of 0 keeps memory");
  cerf::set_kept_output_limit(limit);
  void* first = nullptr;
  {
    const cerf::OutputMemory a(size), b(size);
    first = b.data();
    expect(a.data() != b.data(), "two outputs share memory");
    for (const cerf::OutputMemory* output : {&a, &b}) {
      expect(reinterpret_cast<uintptr_t>(output->data()) % (2 << 20) == 0, "not aligned");
      std::memset(output->data(), 1, size);  // every byte is there
    }
    expect(cerf::kept_output_bytes() == 0, "memory in use counts as kept");
  }
  expect(cerf::kept_output_bytes() == 2 * size, "memory is not kept");
  {
    const cerf::OutputMemory small(size * 4 / 5), large(4 * size), other(size * 9 / 10);
    expect(cerf::kept_output_bytes() == size, "kept memory went to an output of another size");
    const cerf::OutputMemory again(size);
    expect(cerf::kept_output_bytes() == 0, "kept memory is not used again");
    expect(again.data() == first || other.data() == first, "kept memory is not used again");
  }
  for (int i = 1; i <= 20; i++) const cerf::OutputMemory more(i * 3 * size);
  expect(cerf::kept_output_bytes() <= limit, "more is kept than the limit");
  cerf::set_kept_output_limit(size);
  expect(cerf::kept_output_bytes() <= size, "a lower limit does not free memory");
  cerf::set_kept_output_limit(limit);
}
