// Radians to turns: what packing does to every frequency, offset and centre.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "cerf/buffer.h"
#include "cerf/maps.h"

namespace cerf {

// Through long double, so that the result is the nearest T to the exact quotient (or next to it).
constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;
template <class T>
T to_turns(double radians) {
  return static_cast<T>(static_cast<long double>(radians) / kTwoPi);
}

// Frequencies and offsets as kernels have them: in turns, or in bins of tables as they are.
template <class T>
T packed_phase(double value, const Outputs& outputs) {
  return outputs.table ? static_cast<T>(value) : to_turns<T>(value);
}

template <class T>
Buffer<T> turns_of(std::span<const double> radians) {
  Buffer<T> turns(static_cast<int64_t>(radians.size()));
  std::transform(radians.begin(), radians.end(), turns.data(), to_turns<T>);
  return turns;
}

// Offsets lose their whole turns: sums that start near zero round less. Only a cosine can spare
// them: relu maps and tables keep theirs.
template <class T>
Buffer<T> packed_offsets_of(const Outputs& outputs) {
  Buffer<T> turns(outputs.n_projections());
  if (outputs.relu || outputs.table) {
    std::transform(outputs.offsets.begin(), outputs.offsets.end(), turns.data(),
                   [&](double offset) { return packed_phase<T>(offset, outputs); });
    return turns;
  }
  for (int32_t k = 0; k < outputs.n_projections(); k++) {
    const long double exact = static_cast<long double>(outputs.offsets[size_t(k)]) / kTwoPi;
    turns[k] = static_cast<T>(exact - std::round(exact));
  }
  return turns;
}

// Amplitudes of relu maps take back the division of the phase by 2 pi.
template <class T>
Buffer<T> packed_amplitudes_of(const Outputs& outputs) {
  const long double factor = outputs.relu ? kTwoPi : 1;
  Buffer<T> amplitudes(outputs.n_projections());
  for (int32_t k = 0; k < outputs.n_projections(); k++) {
    amplitudes[k] = static_cast<T>(factor * outputs.amplitudes[size_t(k)]);
  }
  return amplitudes;
}

}  // namespace cerf
