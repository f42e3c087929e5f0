// enable-cuda-compat: a newer CUDA than the host's driver has, from the image, where it can stand
// on that driver.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/elf.h"
#include "hook/call.h"
#include "hook/report.h"

namespace partita::hook {

struct CompatOptions {
  std::string host_driver, host_cuda;                // versions; empty: not told
  std::string directory = "/usr/local/cuda/compat";  // in the container
};

// "570.86.15" by its numbers; nothing for what is no version.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> ParseVersion(std::string_view text);

// Is the image's libcuda.so.<compat> to be preferred? The note decides where there is one.
[[nodiscard]] bool UseCompat(std::string_view compat,
                             const std::optional<cdi::CompatNote>& note,
                             const CompatOptions& options);

// The image's directory whose libcuda is to be preferred, without links; nothing where none is.
[[nodiscard]] std::optional<std::string> FindCompat(const base::RootDir& root,
                                                    const CompatOptions& options,
                                                    const Report& report);

// Lists it before all others in the loader's configuration. Nothing is mounted.
[[nodiscard]] base::Result<void> EnableCudaCompat(const HookCall& call,
                                                  const CompatOptions& options,
                                                  const Report& report);

[[nodiscard]] base::Result<void> RunEnableCudaCompat(std::span<const std::string> arguments,
                                                     CallInput& input,
                                                     const Report& report);

}  // namespace partita::hook
