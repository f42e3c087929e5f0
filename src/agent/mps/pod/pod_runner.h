// Daemons of the MPS runner: a pod beside the agent, or whoever else runs `partita mps-runner`.
#pragma once

#include <chrono>
#include <string>

#include "agent/mps/runner.h"
#include "base/value.h"

namespace partita::agent::mps::pod {

// kTimeout and kUnavailable are daemons'; that the runner is not there or hangs is kIo.
class PodRunner final : public Runner {
 public:
  // Longer than the longest of the runner's commands (control.cc).
  static constexpr std::chrono::seconds kPatience{20};

  explicit PodRunner(std::string socket, std::chrono::milliseconds patience = kPatience);

  [[nodiscard]] base::Result<model::Pid> Start(const Launch& launch,
                                               const std::atomic<bool>& stop) override;
  [[nodiscard]] base::Result<std::string> Ask(const service::mps::Directories& directories,
                                              std::string_view command,
                                              const std::atomic<bool>* stop) const override;
  [[nodiscard]] base::Result<void> MountShm(const std::string& path) override;
  void UnmountShm(const std::string& path) override;
  // What to do, where nobody listens there. One that hangs is not noticed.
  [[nodiscard]] base::Result<void> Reachable() const override;
  void Abandon() override { abandoned_ = true; }

 private:
  [[nodiscard]] base::Result<base::Value> AskRunner(std::string_view method,
                                                    const base::Value& params,
                                                    const std::atomic<bool>* stop) const;

  std::string socket_;
  std::chrono::milliseconds patience_;
  std::atomic<bool> abandoned_ = false;
};

}  // namespace partita::agent::mps::pod
