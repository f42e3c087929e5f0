// Daemons as processes of this one, each in a session of its own. They outlive it when it is
// killed, but not its systemd service or its container.
#pragma once

#include <string>
#include <vector>

#include "agent/mps/runner.h"

namespace partita::agent::mps {

class ChildRunner final : public Runner {
 public:
  // `program`: the path of nvidia-cuda-mps-control; its server lies beside it.
  explicit ChildRunner(std::string program);

  // Its end has to be waited for by whoever knows the pid: Reap.
  [[nodiscard]] base::Result<model::Pid> Start(const Launch& launch,
                                               const std::atomic<bool>& stop) override;
  [[nodiscard]] base::Result<std::string> Ask(const service::mps::Directories& directories,
                                              std::string_view command,
                                              const std::atomic<bool>* stop) const override;
  [[nodiscard]] base::Result<std::string> AskAll(const service::mps::Directories& directories,
                                                 const std::vector<std::string>& commands,
                                                 const std::atomic<bool>* stop) const override;
  [[nodiscard]] base::Result<void> MountShm(const std::string& path) override;
  void UnmountShm(const std::string& path) override;

 private:
  std::string program_;
};

}  // namespace partita::agent::mps
