// update-application-profile: EGL and Vulkan see the GPUs whose nodes the container has.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "hook/call.h"
#include "hook/report.h"

namespace partita::hook {

// A bit a minor below 64; nothing without any.
[[nodiscard]] std::optional<std::uint64_t> VisibleMask(const std::set<std::uint32_t>& minors);
[[nodiscard]] std::string ApplicationProfile(std::uint64_t mask);

// In the place of one from an earlier start.
[[nodiscard]] base::Result<void> WriteApplicationProfile(const base::RootDir& root,
                                                         std::uint64_t mask);

[[nodiscard]] base::Result<void> UpdateApplicationProfile(const HookCall& call,
                                                          const Report& report);
[[nodiscard]] base::Result<void> RunUpdateApplicationProfile(std::span<const std::string> arguments,
                                                             CallInput& input,
                                                             const Report& report);

}  // namespace partita::hook
