// Simulated time: a function of the state's clock and of CLOCK_MONOTONIC.
#pragma once

#include <stdint.h>
#include <time.h>

#include "sim/state/layout.h"

namespace partita::sim {

inline constexpr uint64_t kNanosPerSecond = 1'000'000'000;
inline constexpr uint64_t kNanosPerMilli = 1'000'000;

inline uint64_t MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

// Never goes back: a reader whose monotonic clock lies before the clock's origin sees the origin.
inline uint64_t SimulatedNow(const Clock& clock) {
  if (clock.frozen != 0) return clock.base_ns;
  const uint64_t now = MonotonicNow();
  return now > clock.monotonic_ns ? clock.base_ns + (now - clock.monotonic_ns) : clock.base_ns;
}

}  // namespace partita::sim
