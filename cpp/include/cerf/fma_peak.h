// How fast a kernel can be at most on this CPU.
#pragma once

#include "cerf/kernel_table.h"

namespace cerf {

// Measured fused multiply-add throughput of one thread, in GFLOP/s; a multiply-add is two.
template <class T>
double fma_peak(const KernelTable<T>& kernels);

}  // namespace cerf
