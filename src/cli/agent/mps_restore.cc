// `partita mps restore`: for a node that the agent has left.
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "agent/boot_id.h"
#include "agent/control/control_client.h"
#include "agent/mps/put_back.h"
#include "agent/place.h"
#include "base/characters.h"
#include "base/files.h"
#include "base/state_file.h"
#include "cli/agent/commands.h"
#include "cli/command_options.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"
#include "model/words.h"

namespace partita::cli {
namespace {

using agent::control::Client;
using agent::mps::PutBack;
using base::ErrorCode;
using base::Result;

base::Error AnAgentRuns(const std::string& which) {
  return base::MakeError(ErrorCode::kBusy,
                         "an agent runs on this node{}: it puts modes back itself where it shares "
                         "a GPU by MPS no more",
                         which)
      .WithHint(
          "take sharing.mps out of its configuration; or end it first, with helm uninstall or "
          "systemctl stop partita-agent");
}

// One that is reached. It has the same file open, and its GPUs may be shared now.
Result<void> SeeThatNoAgentAnswers(const std::string& host_root) {
  const std::string socket = base::JoinPath(host_root, agent::control::SocketPath());
  const Result<Client> agent = Client::Connect(socket);
  if (!agent.ok() && agent.error().code() == ErrorCode::kUnavailable) return {};
  if (!agent.ok()) return agent.error();
  return AnAgentRuns("");
}

Result<std::vector<PutBack>> Restore(const base::Invocation& invocation) {
  TRY(options, ReadCommandOptions(invocation));
  const std::string host_root = invocation.Get("host-root").value_or("/");
  TRY_VOID(SeeThatNoAgentAnswers(host_root));
  const std::string state = base::JoinPath(host_root, base::StateDirectory());
  // No agent ever kept anything here, and none of it is made for this.
  if (!base::Exists(state)) return std::vector<PutBack>();
  // An agent that starts is not reached yet, and one that would start meanwhile waits for us.
  agent::Place place(base::JoinPath(host_root, base::RunDirectory()), state);
  TRY(ours, place.Take("partita mps restore"));
  if (!ours) return AnAgentRuns(fmt::format(" ({})", place.holder()));
  TRY(boot_id, agent::ReadBootId());
  return agent::mps::PutModesBack({.modes_file = base::JoinPath(state, "mps-modes"),
                                   .boot_id = boot_id,
                                   .host_root = host_root,
                                   .mps_root = invocation.Get("mps-root").value_or("")},
                                  options.reader);
}

int RunMpsRestore(const base::Invocation& invocation) {
  const Result<std::vector<PutBack>> all = Restore(invocation);
  if (!all.ok()) return ReportError(all.error());
  if (all->empty()) fmt::print("no GPU is exclusive for MPS since this boot\n");
  int status = kExitDone;
  for (const PutBack& gpu : *all) {
    const std::string name = base::Printable(gpu.uuid);
    if (gpu.error) {
      status = ReportError(base::Error(*gpu.error).Within(name + " is not put back"));
    } else if (gpu.changed) {
      fmt::print("{}: {} again\n", name, model::Word(gpu.before));
    } else {
      fmt::print("{}: stays as it is, somebody else has set its mode\n", name);
    }
  }
  return status;
}

}  // namespace

base::Command MpsCommand() {
  return {
      .name = "mps",
      .summary = "Put back what MPS leaves on a node without an agent",
      .examples = {{"partita mps restore", "GPUs are no longer exclusive"}},
      .commands = {
          {.name = "restore",
           .summary = "Give GPUs the compute modes that they had before MPS",
           .description =
               "For a node that the agent has left: a GPU that is shared by MPS is "
               "EXCLUSIVE_PROCESS "
               "until its domain ends, and with the agent goes who sees to that. Each GPU gets the "
               "mode that /var/lib/partita/mps-modes has for it; one that somebody else has given "
               "another mode meanwhile keeps that. No driver keeps a mode over a boot, so there is "
               "nothing to do after one.\n\n"
               "Daemons of MPS have to be ended before: programs that come next would share "
               "nothing with theirs. It refuses while an agent runs or starts, while a daemon "
               "lives below the mps.root of that agent, which mps-modes has, and where that "
               "cannot be seen: in a PID namespace other than the agent's, as that of a pod "
               "without hostPID. With --host-root the files of an agent are looked for below it, "
               "as in a pod.\n\n"
               "The exit status is 1 where a GPU could not be put back; it is tried again by the "
               "next call.",
           .options = {{.name = "mps-root",
                        .value_name = "DIR",
                        .help = "look for daemons below it, too: an mps.root of an agent"}},
           .examples = {{"partita mps restore", "on a host"},
                        {"kubectl debug node/gpu-1 --image=REGISTRY/partita:0.1.0 "
                         "--profile=sysadmin -- partita mps restore --host-root /host "
                         "--driver-root /host",
                         "on a node that has no partita installed"}},
           .run = RunMpsRestore}}};
}

}  // namespace partita::cli
