// How many threads a call may take.
#pragma once

namespace cerf {

// Cap on the threads of one call: what was set, or the default.
int get_num_threads();
void set_num_threads(int n_threads);  // 0 or less: the default

// The default is the number of cores that this process may use, read when it is needed, unless
// another number was set (0 or less: read it again). Callers set it where a CPU quota is lower.
void set_default_num_threads(int n_threads);
int usable_cores();

}  // namespace cerf
