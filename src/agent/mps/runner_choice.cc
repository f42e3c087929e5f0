#include "agent/mps/runner_choice.h"

#include <sys/stat.h>

namespace partita::agent::mps {
namespace {

base::Error NoRunner(const std::string& why) { return {base::ErrorCode::kUnsupported, why}; }

}  // namespace

base::Result<RunnerKind> ChooseRunner(const std::string& word,
                                      bool in_container,
                                      bool under_systemd) {
  if (word == "off")
    return NoRunner("sharing.mps needs a runner of daemons, and mps.runner is off: set it to auto");
  if (word == "pod") return RunnerKind::kPod;
  // What it would start ends with its container, and the host has its pids otherwise.
  if (in_container) {
    return NoRunner(
        "an agent in a container does not run MPS daemons itself: install partita's chart with "
        "mps.enabled, which sets mps.runner: pod; or run the agent on the host");
  }
  if (word == "child") return RunnerKind::kChild;
  if (under_systemd) return RunnerKind::kSystemd;
  return NoRunner(word == "systemd"
                      ? "mps.runner is systemd, and systemd does not run this machine: set "
                        "mps.runner: child"
                      : "systemd does not run this machine, and so nobody keeps MPS daemons over "
                        "the agent's end: set mps.runner: child to have them as its processes");
}

bool UnderSystemd() {
  struct stat about {};
  return stat("/run/systemd/system", &about) == 0 && S_ISDIR(about.st_mode);
}

}  // namespace partita::agent::mps
