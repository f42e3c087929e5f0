// The one place where NVML's codes become ours.
#pragma once

#include <string_view>

#include "base/result.h"

namespace partita::hw::nvml {

// "nvmlDeviceGetName: GPU is lost (NVML 15)", with what to do about it.
[[nodiscard]] base::Error NvmlError(std::string_view function, int code);

// What a person can do about this code; empty when nothing is known.
[[nodiscard]] std::string_view NvmlHint(int code);

// The board or the driver does not have it: no value, and nothing to report.
[[nodiscard]] bool MeansAbsent(int code);

// The session is over, whichever GPU the call named: the driver went away or was replaced under us.
[[nodiscard]] bool MeansSessionLost(int code);
[[nodiscard]] bool MeansSessionLost(const base::Error& error);

}  // namespace partita::hw::nvml
