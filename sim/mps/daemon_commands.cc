// What the daemon answers to commands; the texts are driver 580's.

#include <unistd.h>

#include <fmt/core.h>

#include "sim/mps/clients.h"
#include "sim/mps/daemon.h"

namespace partita::sim::mps {
namespace {

std::string NotFound(std::uint32_t pid) { return fmt::format("Server {} not found\n", pid); }

}  // namespace

std::string Daemon::SetDefaultPercentage(const std::string& value) {
  if (!defaults_.SetPercentage(value)) {
    Say("Invalid percentage, expected between (0.0, 100.0]");
  }
  return defaults_.Percentage() + "\n";
}

std::string Daemon::GetDefaultLimit(const std::string& device) {
  const std::string limit = defaults_.LimitOf(device);
  if (!limit.empty()) return limit + "\n";
  Say("No default pinned memory limit set for the device!");
  return "";
}

bool Daemon::IsServer(std::uint32_t pid) const {
  return server_ && static_cast<std::uint32_t>(server_->pid) == pid;
}

// Without a client there is not even the head.
std::string Daemon::Ps(std::uint32_t pid) {
  if (pid != 0 && !IsServer(pid)) return NotFound(pid) + NotFound(pid) + "\n";
  if (!server_) return "Server not found\n";
  const std::string rows = Ask("ps").value_or("");
  return rows.empty() ? "" : PsHead() + rows;
}

std::string Daemon::ObeyStart(const Command& command) {
  if (command.user < 0) return "A user id (UID) is required to start a new server\n";
  const auto uid = static_cast<std::uint32_t>(command.user);
  if (!server_) StartServer(uid);
  return "";
}

std::string Daemon::ObeyShutdown(const Command& command) {
  if (!IsServer(command.server)) return NotFound(command.server);
  TryShutdown(false);
  if (command.force && server_->shutdown_wanted) ForceShutdown();
  return "";
}

// Commands that name a server, and are its to answer.
std::string Daemon::ObeyServer(const Command& command) {
  if (command.verb == Verb::kGetServerStatus && command.server == 0) {
    return "A server PID is required\n";
  }
  const bool there = IsServer(command.server);
  if (!there && command.verb == Verb::kTerminateClient) {
    return NotFound(command.server) + fmt::format("Server {} not found!\n1\n", command.server);
  }
  if (!there) return NotFound(command.server);
  std::string request;
  switch (command.verb) {
    case Verb::kGetServerStatus: request = "status"; break;
    case Verb::kGetClientList: request = "clients"; break;
    case Verb::kTerminateClient: request = fmt::format("terminate {}", command.client); break;
    case Verb::kGetPercentage: request = "percentage"; break;
    case Verb::kSetPercentage: request = fmt::format("percentage {}", command.value); break;
    case Verb::kGetLimit: request = fmt::format("limit {}", command.device); break;
    case Verb::kSetLimit:
      if (command.value.empty()) return "";
      request = fmt::format("limit {} {}", command.device, command.value);
      break;
    case Verb::kNothing:
    case Verb::kUnknown:
    case Verb::kQuit:
    case Verb::kGetServerList:
    case Verb::kStartServer:
    case Verb::kShutdownServer:
    case Verb::kGetDeviceClientList:
    case Verb::kPs:
    case Verb::kGetDefaultPercentage:
    case Verb::kSetDefaultPercentage:
    case Verb::kGetDefaultLimit:
    case Verb::kSetDefaultLimit:
    case Verb::kSimFault: return "";
  }
  return Ask(request).value_or(NotFound(command.server));
}

std::string Daemon::Obey(const Command& command, std::uint32_t uid) {
  if (NeedsPrivilege(command.verb) && uid != 0 && uid != getuid()) {
    if (command.verb == Verb::kQuit) return "Not enough privilege to execute quit command\n";
    return fmt::format(
        "Insufficient privileges for UID {}. Control deamon settings can only be modified by the "
        "user who started it or by the root user.\n",
        uid);
  }
  switch (command.verb) {
    case Verb::kNothing:
    case Verb::kUnknown: return fmt::format("Unknown command \"{}\"\n", command.word);
    case Verb::kQuit:
      quitting_ = true;
      if (command.seconds >= 0) quit_by_ = Clock::now() + std::chrono::seconds(command.seconds);
      if (server_) TryShutdown(false);
      pending_.clear();
      return "";
    case Verb::kGetServerList: return server_ ? fmt::format("{}\n", server_->pid) : "";
    case Verb::kStartServer: return ObeyStart(command);
    case Verb::kShutdownServer: return ObeyShutdown(command);
    case Verb::kPs: return Ps(command.server);
    case Verb::kGetDeviceClientList:
      if (command.server != 0 && !IsServer(command.server)) return NotFound(command.server);
      return server_ ? Ask("devices").value_or("") : "";
    case Verb::kGetDefaultPercentage: return defaults_.Percentage() + "\n";
    case Verb::kSetDefaultPercentage: return SetDefaultPercentage(command.value);
    case Verb::kGetDefaultLimit: return GetDefaultLimit(command.device);
    case Verb::kSetDefaultLimit:
      Say(fmt::format("set_default_device_pinned_mem_limit {} {}.", command.device, command.value));
      if (!command.value.empty()) defaults_.SetLimit(command.device, command.value);
      return "";
    case Verb::kSimFault:
      return server_ ? Ask(fmt::format("fault {}", command.client)).value_or("") : "no server";
    case Verb::kGetServerStatus:
    case Verb::kGetClientList:
    case Verb::kTerminateClient:
    case Verb::kGetPercentage:
    case Verb::kSetPercentage:
    case Verb::kGetLimit:
    case Verb::kSetLimit: return ObeyServer(command);
  }
  return "";
}

}  // namespace partita::sim::mps
