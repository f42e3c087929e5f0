// Daemons of the MPS runner: a pod beside the agent, or whoever else runs `partita mps-runner`.
#pragma once

#include <string>

#include "agent/mps/runner.h"

namespace partita::agent::mps::pod {

class PodRunner final : public Runner {
 public:
  explicit PodRunner(std::string socket);

  [[nodiscard]] base::Result<model::Pid> Start(const Launch& launch,
                                               const std::atomic<bool>& stop) override;
  [[nodiscard]] base::Result<std::string> Ask(const service::mps::Directories& directories,
                                              std::string_view command,
                                              const std::atomic<bool>* stop) const override;
  [[nodiscard]] base::Result<void> MountShm(const std::string& path) override;
  void UnmountShm(const std::string& path) override;
  // kUnavailable, and what to do: nobody listens there.
  [[nodiscard]] base::Result<void> Reachable() const override;
  void Abandon() override { abandoned_ = true; }

 private:
  std::string socket_;
  std::atomic<bool> abandoned_ = false;
};

}  // namespace partita::agent::mps::pod
