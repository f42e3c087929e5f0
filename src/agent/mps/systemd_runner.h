// Daemons as transient units of the host's systemd, "partita-mps-<domain>.service": they outlive
// the agent, its service and its cgroup.
#pragma once

#include <string>
#include <vector>

#include "agent/mps/runner.h"

namespace partita::agent::mps {

class SystemdRunner final : public Runner {
 public:
  // `program`: the path of nvidia-cuda-mps-control; its server lies beside it.
  explicit SystemdRunner(std::string program);

  // When it is back the program runs, with exactly the environment of `launch` and PATH.
  [[nodiscard]] base::Result<model::Pid> Start(const Launch& launch,
                                               const std::atomic<bool>& stop) override;
  [[nodiscard]] base::Result<std::string> Ask(const service::mps::Directories& directories,
                                              std::string_view command,
                                              const std::atomic<bool>* stop) const override;
  [[nodiscard]] base::Result<std::string> AskAll(const service::mps::Directories& directories,
                                                 const std::vector<std::string>& commands,
                                                 const std::atomic<bool>* stop) const override;
  // By systemd, since the agent's service has mounts of its own, which nobody else sees.
  [[nodiscard]] base::Result<void> MountShm(const std::string& path) override;
  void UnmountShm(const std::string& path) override;
  // Stops the unit, with whatever is left in it.
  void Ended(const std::string& domain) override;
  void Abandon() override { abandoned_ = true; }

 private:
  std::string program_;
  std::atomic<bool> abandoned_ = false;
};

// What is started for a launch, without a shell: systemd-run and its arguments.
[[nodiscard]] std::vector<std::string> TransientUnit(const std::string& program,
                                                     const Launch& launch);
// "partita-mps-GPU-….service"
[[nodiscard]] std::string UnitOf(const std::string& domain);

}  // namespace partita::agent::mps
