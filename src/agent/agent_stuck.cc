// What the agent does about a session with the driver that must close and cannot.

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/agent.h"

namespace partita::agent {

using base::LogKey;

std::string Agent::StuckCalls() {
  if (!node_.live().unclosable()) return "";
  return fmt::format("{}", fmt::join(node_.driver().Overdue(), ", "));
}

// What is told comes from a session with a driver, or a set of GPUs, that is no more.
void Agent::SessionStuck(const std::string& calls) {
  const bool may = config_.config.replace_when_stuck.value == "true";
  if (!std::exchange(told_stuck_, true)) {
    const std::string problem =
        fmt::format("the session with the driver must close, and {} never comes back", calls);
    log_.Error(may ? "replacing this process" : "this process must be restarted",
               {{LogKey::kError, problem}});
    readiness_.SetBad("inventory", problem);
  }
  if (!may || steps_.stopping()) return;
  if (const std::vector<std::string> threads = options_.unkillable(); !threads.empty()) {
    const std::string who = fmt::format("{}", fmt::join(threads, ", "));
    if (std::exchange(unkillable_, who) != who)
      log_.Error("the kernel lets nobody end a thread: reboot the node, or see the kernel log",
                 {{LogKey::kError, who}});
    return;
  }
  wants_replacing_ = true;
  running_ = false;
  steps_.Stop();
}

void Agent::SessionFree() {
  told_stuck_ = false;
  readiness_.SetGood("inventory");
  log_.Info("the driver's call came back");
  node_.live().Look(hw::nvml::Parts::All());
}

}  // namespace partita::agent
