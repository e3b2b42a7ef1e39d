// Tests of the core against long double, for every level that this CPU can run. No framework.
#include "cerf/threads.h"
#include "expect.h"
#include "tests.h"

int main() {
  test_output_memory();
  test_threads();
  test_validation();
  cerf::set_num_threads(3);  // also on machines with fewer cores
  test_kernels();
  test_dense();
  test_masked();
  test_fastfood();
  test_tables();
  test_training();
  return expectations::summary();
}
