#include "agent/mps/systemd_runner.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "agent/mps/control.h"
#include "agent/mps/domain_files.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace partita::agent::mps {
namespace {

using base::ErrorCode;
using base::Result;

// More than a unit may take to stop.
constexpr std::chrono::seconds kSystemdTakes{15};

// What systemd puts into every service's environment, and the locale that it was started with.
constexpr const char* kNotTheDaemons =
    "UnsetEnvironment=INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID MEMORY_PRESSURE_WATCH "
    "MEMORY_PRESSURE_WRITE LANG LANGUAGE LC_CTYPE LC_NUMERIC LC_TIME LC_COLLATE LC_MONETARY "
    "LC_MESSAGES LC_PAPER LC_NAME LC_ADDRESS LC_TELEPHONE LC_MEASUREMENT LC_IDENTIFICATION "
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE CUDA_MPS_PINNED_DEVICE_MEM_LIMIT";

Result<std::string> RunToEnd(std::vector<std::string> arguments, const std::atomic<bool>* stop) {
  base::Subprocess program;
  const std::string name = arguments.front();
  program.arguments = std::move(arguments);
  program.limit = kSystemdTakes;
  program.stop = stop;
  TRY(result, base::Run(program));
  if (result.Succeeded()) return std::string(base::Trim(result.output));
  return base::MakeError(result.timed_out ? ErrorCode::kTimeout : ErrorCode::kIo, "{} {}: {}", name,
                         result.Describe(), base::Quoted(base::Trim(result.output)));
}

// A command that PID 1 runs to its end, among the host's mounts.
Result<void> RunOnHost(const std::vector<std::string>& command, const std::atomic<bool>* stop) {
  // Not --wait: that needs the message bus, and the end of a oneshot is waited for without.
  std::vector<std::string> arguments = {
      "systemd-run", "--quiet", "--collect", "--no-ask-password", "--service-type=oneshot", "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  TRY(said, RunToEnd(std::move(arguments), stop));
  return {};
}

}  // namespace

std::string UnitOf(const std::string& domain) {
  return fmt::format("partita-mps-{}.service", domain);
}

std::vector<std::string> TransientUnit(const std::string& program, const Launch& launch) {
  std::vector<std::string> arguments = {"systemd-run", "--quiet", "--collect", "--no-ask-password",
                                        "--unit=" + UnitOf(launch.domain),
                                        "--description=MPS control daemon of " + launch.domain,
                                        // It is back when the program runs, or could not be.
                                        "--service-type=exec"};
  for (const std::string& property :
       {std::string("StandardInput=null"), "StandardOutput=append:" + launch.output,
        "StandardError=append:" + launch.output,
        // Servers have no work without their daemon; one that dies of hunger is replaced by it.
        std::string("KillMode=control-group"), std::string("TimeoutStopSec=5"),
        std::string("OOMPolicy=continue"), std::string(kNotTheDaemons)}) {
    arguments.push_back("--property=" + property);
  }
  for (const std::string& variable : launch.environment)
    arguments.push_back("--setenv=" + variable);
  arguments.push_back("--setenv=" + PathFor(program));
  arguments.emplace_back("--");
  arguments.push_back(program);
  arguments.insert(arguments.end(), launch.arguments.begin(), launch.arguments.end());
  return arguments;
}

SystemdRunner::SystemdRunner(std::string program) : program_(std::move(program)) {}

Result<model::Pid> SystemdRunner::Start(const Launch& launch, const std::atomic<bool>& stop) {
  const std::string unit = UnitOf(launch.domain);
  TRY(started, RunToEnd(TransientUnit(program_, launch), &stop), "start {}", unit);
  TRY(text, RunToEnd({"systemctl", "show", "--property=MainPID", "--value", unit}, &stop));
  const std::optional<std::uint64_t> pid = base::ParseUnsigned(text);
  if (pid && *pid > 0) return model::Pid(static_cast<std::uint32_t>(*pid));
  Ended(launch.domain);
  return base::MakeError(ErrorCode::kUnavailable, "{} ended at once", unit)
      .WithHint("see " + launch.output);
}

Result<std::string> SystemdRunner::Ask(const service::mps::Directories& directories,
                                       std::string_view command,
                                       const std::atomic<bool>* stop) const {
  return Control(program_, directories, stop).Ask(command);
}

Result<std::string> SystemdRunner::AskAll(const service::mps::Directories& directories,
                                          const std::vector<std::string>& commands,
                                          const std::atomic<bool>* stop) const {
  return Control(program_, directories, stop).AskAll(commands);
}

Result<void> SystemdRunner::MountShm(const std::string& path) {
  if (IsTmpfsOfItsOwn(path)) return {};
  Result<void> mounted = RunOnHost(
      {"mount", "-t", "tmpfs", "-o", "nosuid,nodev,noexec,relatime," + ShmOptions(), "shm", path},
      &abandoned_);
  if (mounted.ok()) return {};
  return std::move(mounted).error().WithHint(
      "containers get a directory instead, and what they leave in /dev/shm stays");
}

void SystemdRunner::UnmountShm(const std::string& path) {
  if (!IsTmpfsOfItsOwn(path)) return;
  (void)RunOnHost({"umount", "--lazy", "--no-canonicalize", path}, &abandoned_);
}

void SystemdRunner::Ended(const std::string& domain) {
  // Also one that is being stopped already is waited for; that there is none is no news.
  (void)RunToEnd({"systemctl", "--no-ask-password", "--quiet", "stop", UnitOf(domain)},
                 &abandoned_);
  // One that could not be stopped in order stays as failed, and its name taken.
  (void)RunToEnd({"systemctl", "--no-ask-password", "--quiet", "reset-failed", UnitOf(domain)},
                 &abandoned_);
}

}  // namespace partita::agent::mps
