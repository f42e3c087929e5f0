// nvidia-container-cli, of which programs that once called it need `configure`.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "hook/legacy/injection.h"

namespace partita::hook {

struct CliCall {
  LegacyCall call;
  bool debug = false;
};

// `[FLAG…] configure [FLAG…] --pid=N ROOTFS`. kUnsupported: another of its commands.
[[nodiscard]] base::Result<CliCall> ParseContainerCli(std::span<const std::string> arguments);

// By argv; the exit status.
int RunContainerCli(std::span<char*> arguments);

}  // namespace partita::hook
