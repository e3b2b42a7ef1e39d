// How many threads a call may take.
#pragma once

namespace cerf {

// Cap on the threads of one call: what was set, or the default.
int get_num_threads();
void set_num_threads(int n_threads);  // 0 or less: the default

// The default is the number of cores that this process may use, asked when it is needed, unless
// another number was set (0 or less: ask again). A caller who knows more, as of a CPU quota, sets
// it.
void set_default_num_threads(int n_threads);
int usable_cores();

}  // namespace cerf
