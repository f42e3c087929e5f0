// The MPS runner: starts control daemons for agents that come and go, and carries their commands.
// What may be asked of it is in requests.h.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "agent/control/server.h"
#include "base/log.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/loop.h"

namespace partita::agent::mps::pod {

struct RunnerOptions {
  std::string root = "/run/nvidia/mps";
  std::string socket;
  // Where nvidia-cuda-mps-control is now: a driver may come later. Any thread.
  std::function<base::Result<std::string>()> find_program;
};

// Loop's thread only. Loop and log outlive it. Destroyed, it ends commands that run and leaves
// every daemon alone.
class RunnerServer {
 public:
  // Commands at once; one more is refused. Each has a thread, so that one that hangs holds up
  // nobody.
  static constexpr std::size_t kMostCommands = 16;

  RunnerServer(net::Loop& loop, base::Log& log, RunnerOptions options);
  RunnerServer(const RunnerServer&) = delete;
  RunnerServer& operator=(const RunnerServer&) = delete;
  ~RunnerServer();

  // Again, where its file was lost.
  [[nodiscard]] base::Result<void> Listen();

 private:
  struct Command;
  struct Daemon;
  using Work = std::function<base::Result<base::Value>(const std::atomic<bool>& stop)>;
  void Serve(const std::shared_ptr<control::Call>& call, base::Result<Work> work);
  void Done(std::list<Command>::iterator command, base::Result<base::Value> result);
  [[nodiscard]] base::Result<Work> StartWork(const base::Value& params);
  [[nodiscard]] base::Result<Work> AskWork(const base::Value& params) const;
  [[nodiscard]] base::Result<Work> MountWork(const base::Value& params) const;
  [[nodiscard]] base::Result<Work> UnmountWork(const base::Value& params) const;
  void Keep(base::UniqueFd process);

  net::Loop& loop_;
  base::Log& log_;
  RunnerOptions options_;
  control::Server server_;
  std::unique_ptr<net::Timer> look_;  // at the socket's file
  std::list<Daemon> daemons_;         // ours to wait for
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::list<Command> commands_;  // last: their threads end first
};

}  // namespace partita::agent::mps::pod
