// What a container engine asks of an OCI runtime, as far as the one in front of it must know.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace partita::hook {

struct RuntimeCall {
  bool create = false;
  std::string bundle;  // empty: the working directory
  std::string log, log_format;
  bool debug = false, version = false;
};

// Without argv[0]. Any word `create` is the command, unless it is a value of --bundle or another
// command of runc came first (`delete create`). Flags have one dash or two, their values behind '='
// or next; the last one counts. kInvalid: a create whose --bundle has no value. Everything else is
// the low-level runtime's to judge.
[[nodiscard]] base::Result<RuntimeCall> ReadRuntimeArguments(
    std::span<const std::string> arguments);

}  // namespace partita::hook
