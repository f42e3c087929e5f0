// `partita mps-runner`: the other DaemonSet of the chart.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "agent/mps/control_program.h"
#include "agent/mps/pod/runner_server.h"
#include "base/files.h"
#include "base/log.h"
#include "base/state_file.h"
#include "base/unique_fd.h"
#include "cli/agent/commands.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"

namespace partita::cli {
namespace {

using base::Result;

constexpr const char* kHostMounts = "/proc/1/ns/mnt";

// Where daemons find the driver's libraries, and pods their directories. Before the first thread:
// a process with several cannot enter.
Result<void> EnterHostMounts() {
  struct stat host {};
  struct stat own {};
  if (stat(kHostMounts, &host) != 0 || stat("/proc/self/ns/mnt", &own) != 0) {
    return base::ErrnoError(std::string("look at ") + kHostMounts)
        .WithHint("the pod needs hostPID: true and privileged: true");
  }
  if (host.st_ino == own.st_ino && host.st_dev == own.st_dev) return {};
  const base::UniqueFd mounts(open(kHostMounts, O_RDONLY | O_CLOEXEC));
  if (!mounts.valid() || setns(mounts.get(), CLONE_NEWNS) != 0 || chdir("/") != 0) {
    return base::ErrnoError(std::string("enter ") + kHostMounts)
        .WithHint("the pod needs hostPID: true and privileged: true");
  }
  return {};
}

Result<void> RunMpsRunner(const base::Invocation& invocation) {
  // Whoever reads the log may go.
  std::signal(SIGPIPE, SIG_IGN);
  if (invocation.Has("host-mounts")) TRY_VOID(EnterHostMounts());
  const std::string directory = base::RunDirectory();
  const std::unique_ptr<net::Loop> loop = net::NewLoop();
  base::Log log(loop->clock(), base::StandardErrorSink());
  const std::string driver_root = invocation.Get("driver-root").value_or("/");
  agent::mps::pod::RunnerServer server(
      *loop, log,
      {.root = invocation.Get("root").value_or(""),
       .socket = base::JoinPath(directory, "mps.sock"),
       .find_program = [driver_root] { return agent::mps::FindControlProgram(driver_root); }});
  TRY_VOID(server.Listen());
  const std::unique_ptr<net::SignalWatch> signals =
      loop->OnSignals({SIGTERM, SIGINT}, [&](int) { loop->Stop(); });
  log.Info("listening at " + base::JoinPath(directory, "mps.sock"));
  loop->Run();
  return {};
}

int RunMpsRunnerCommand(const base::Invocation& invocation) {
  const Result<void> end = RunMpsRunner(invocation);
  return end.ok() ? kExitDone : ReportError(end.error());
}

}  // namespace

base::Command MpsRunnerCommand() {
  return {
      .name = "mps-runner",
      .summary = "Run MPS control daemons for the agent of this node",
      .description =
          "Runs in the foreground, as a pod of its own beside the agent's: it starts "
          "nvidia-cuda-mps-control for agents with mps.runner: pod, which talk to it through "
          "/run/partita/mps.sock. Its daemons live on when an agent ends, is killed or upgraded, "
          "and when this ends in order; they end with its container. It knows no configuration, "
          "opens no GPU, and does nothing by itself.\n\n"
          "Only root is answered, and of what root asks only what an agent would: that program, "
          "in directories below --root.",
      .options = {{.name = "root",
                   .value_name = "DIR",
                   .help = "above the directories of MPS domains; as mps.root of the agent",
                   .default_value = "/run/nvidia/mps"},
                  {.name = "host-mounts",
                   .help = "see files as the host's process 1 does, which a pod needs"}},
      .examples = {{"partita mps-runner --host-mounts",
                    "in a pod that has hostPID and is privileged"},
                   {"partita mps-runner --root /run/nvidia/mps", "on a host, to look at it"}},
      .run = RunMpsRunnerCommand};
}

}  // namespace partita::cli
