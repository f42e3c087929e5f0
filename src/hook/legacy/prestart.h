// nvidia-container-runtime-hook, which docker and hooks.d call for a container that is made and not
// yet started.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "config/toolkit_config.h"
#include "hook/legacy/injection.h"
#include "hook/report.h"
#include "oci/state.h"

namespace partita::hook {

struct PrestartArguments {
  enum class Command { kPrestart, kNothing, kVersion };
  Command command = Command::kNothing;
  std::string config;  // the file; empty: in its usual place
  bool debug = false;
};
// `[-debug] [-config FILE] [-version] prestart|poststart|poststop`; kInvalid.
[[nodiscard]] base::Result<PrestartArguments> ParsePrestart(std::span<const std::string> arguments);

// What is to be done for the container of this state; nothing where it asks for no GPU.
[[nodiscard]] base::Result<std::optional<LegacyCall>> ReadPrestart(
    const oci::State& state, const config::ToolkitConfig& config, const Report& report);

// By argv; the exit status.
int RunPrestartHook(std::span<char*> arguments);

}  // namespace partita::hook
