#include "agent/mps/servers.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/mps/known_process.h"
#include "base/files.h"
#include "base/text.h"

namespace partita::agent::mps {
namespace {

using base::ErrorCode;
using base::Result;
using base::UniqueFd;
using service::mps::Directories;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kServerProgram = "nvidia-cuda-mps-server";

// All of this domain, whether or not there is a daemon that knows of them: one that is stopped does
// not notice its daemon's end, and has its GPU for as long as it is there.
Result<std::vector<UniqueFd>> FindServers(const Directories& directories) {
  TRY(names, base::ListDirectory("/proc"));
  std::vector<UniqueFd> servers;
  for (const std::string& name : names) {
    const std::optional<std::uint64_t> pid = base::ParseUnsigned(name);
    if (!pid) continue;
    Result<UniqueFd> server = OpenServer(model::Pid(static_cast<std::int64_t>(*pid)), directories);
    if (server.ok()) servers.push_back(*std::move(server));
  }
  return servers;
}

void SignalAll(const std::vector<int>& processes, int number) {
  for (const int process : processes) Signal(process, number);
}

// Whether all have ended by then.
bool WaitForAll(const std::vector<int>& processes,
                milliseconds limit,
                const std::atomic<bool>& stop) {
  const Clock::time_point deadline = Clock::now() + limit;
  bool ended = true;
  for (const int process : processes) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    ended = WaitForEnd(process, std::max(left, milliseconds(0)), &stop) && ended;
    if (!ended && stop) return false;
  }
  return ended;
}

}  // namespace

// Whoever names it: what answers in the pipe directory may be a container's program, whose word
// must not end processes of others. A container's own program may be called so, too, with this
// directory in its environment: daemons and their servers are in the agent's PID namespace, and it
// is not.
Result<UniqueFd> OpenServer(model::Pid pid, const Directories& directories) {
  TRY(process, OpenOurProgram(pid, kServerProgram));
  if (HasVariable(pid, "CUDA_MPS_PIPE_DIRECTORY", directories.pipe)) return process;
  return base::MakeError(ErrorCode::kNotFound, "process {} is no server of {}", pid,
                         directories.pipe);
}

Result<void> EndProcesses(const std::vector<int>& processes,
                          const std::string& what,
                          const std::atomic<bool>& stop,
                          Patience patience) {
  // Together: whoever starts many of that name must not keep a domain from its daemon for as many
  // patiences.
  for (const auto& [number, limit] :
       {std::pair(0, patience.silent), std::pair(SIGTERM, patience.after_term),
        std::pair(SIGKILL, patience.after_kill)}) {
    if (number != 0) SignalAll(processes, number);
    if (WaitForAll(processes, limit, stop)) return {};
    if (stop) return base::MakeError(ErrorCode::kTimeout, "{} was not waited for", what);
  }
  return base::MakeError(ErrorCode::kTimeout, "{} does not die", what)
      .WithHint("it is stuck in the kernel: see the kernel log");
}

Result<void> EndServersLeft(const Directories& directories,
                            const std::string& name,
                            const std::atomic<bool>& stop,
                            Patience patience) {
  TRY(servers, FindServers(directories));
  std::vector<int> processes;
  processes.reserve(servers.size());
  for (const UniqueFd& server : servers) processes.push_back(server.get());
  return EndProcesses(processes, "an MPS server of " + name, stop, patience);
}

}  // namespace partita::agent::mps
