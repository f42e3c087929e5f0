// Who runs MPS daemons, by `mps.runner` and where this agent runs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace partita::agent::mps {

// Whose processes daemons are: the agent's, units' of the host's systemd, `partita mps-runner`'s.
enum class RunnerKind : std::uint8_t { kChild, kSystemd, kPod };

// kUnsupported: nobody does, and why, with what to set. `in_container`: the host is not at "/".
[[nodiscard]] base::Result<RunnerKind> ChooseRunner(const std::string& word,
                                                    bool in_container,
                                                    bool under_systemd);

// systemd runs this machine, by its own test.
[[nodiscard]] bool UnderSystemd();

}  // namespace partita::agent::mps
