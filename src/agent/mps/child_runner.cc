#include "agent/mps/child_runner.h"

#include <utility>

#include "agent/mps/control.h"
#include "agent/mps/domain_files.h"
#include "base/subprocess.h"

namespace partita::agent::mps {

ChildRunner::ChildRunner(std::string program) : program_(std::move(program)) {}

base::Result<model::Pid> ChildRunner::Start(const Launch& launch,
                                            const std::atomic<bool>& /*stop*/) {
  base::Detached daemon{
      .arguments = {program_}, .environment = launch.environment, .output = launch.output};
  daemon.arguments.insert(daemon.arguments.end(), launch.arguments.begin(), launch.arguments.end());
  daemon.environment.push_back(PathFor(program_));
  TRY(pid, base::StartDetached(daemon));
  return model::Pid(pid);
}

base::Result<std::string> ChildRunner::Ask(const service::mps::Directories& directories,
                                           std::string_view command,
                                           const std::atomic<bool>* stop) const {
  return Control(program_, directories, stop).Ask(command);
}

base::Result<std::string> ChildRunner::AskAll(const service::mps::Directories& directories,
                                              const std::vector<std::string>& commands,
                                              const std::atomic<bool>* stop) const {
  return Control(program_, directories, stop).AskAll(commands);
}

base::Result<void> ChildRunner::MountShm(const std::string& path) { return mps::MountShm(path); }

void ChildRunner::UnmountShm(const std::string& path) { mps::UnmountShm(path); }

}  // namespace partita::agent::mps
