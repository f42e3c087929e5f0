#include "sim/mps/commands.h"

#include <array>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace partita::sim::mps {
namespace {

struct Name {
  std::string_view word;
  Verb verb;
};

constexpr std::array kNames = {
    Name{"quit", Verb::kQuit},
    Name{"get_server_list", Verb::kGetServerList},
    Name{"start_server", Verb::kStartServer},
    Name{"shutdown_server", Verb::kShutdownServer},
    Name{"get_server_status", Verb::kGetServerStatus},
    Name{"get_client_list", Verb::kGetClientList},
    Name{"get_device_client_list", Verb::kGetDeviceClientList},
    Name{"ps", Verb::kPs},
    Name{"terminate_client", Verb::kTerminateClient},
    Name{"get_default_active_thread_percentage", Verb::kGetDefaultPercentage},
    Name{"set_default_active_thread_percentage", Verb::kSetDefaultPercentage},
    Name{"get_active_thread_percentage", Verb::kGetPercentage},
    Name{"set_active_thread_percentage", Verb::kSetPercentage},
    Name{"get_default_device_pinned_mem_limit", Verb::kGetDefaultLimit},
    Name{"set_default_device_pinned_mem_limit", Verb::kSetDefaultLimit},
    Name{"get_device_pinned_mem_limit", Verb::kGetLimit},
    Name{"set_device_pinned_mem_limit", Verb::kSetLimit},
    Name{"partita_sim_fault", Verb::kSimFault},
};

std::uint32_t PidOf(const std::string& word) {
  const long number = std::strtol(word.c_str(), nullptr, 10);
  return number > 0 && number <= 0x7FFFFFFF ? static_cast<std::uint32_t>(number) : 0;
}

// A number that is all of the word; -1: it is none.
std::int64_t WholeNumber(const std::string& word) {
  const auto number = base::ParseUnsigned(word);
  return number && *number <= 0x7FFFFFFF ? static_cast<std::int64_t>(*number) : -1;
}

void ReadArguments(const std::vector<std::string>& words, Command& command) {
  const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
  switch (command.verb) {
    case Verb::kGetServerStatus:
    case Verb::kGetClientList:
    case Verb::kGetDeviceClientList:
    case Verb::kGetPercentage: command.server = PidOf(word(1)); return;
    case Verb::kShutdownServer:
      command.server = PidOf(word(1));
      command.force = word(2) == "-f";
      return;
    case Verb::kTerminateClient:
      command.server = PidOf(word(1));
      command.client = PidOf(word(2));
      return;
    case Verb::kStartServer:
      if (word(1) == "-uid") command.user = WholeNumber(word(2));
      return;
    case Verb::kPs:
      if (word(1) == "-p") command.server = PidOf(word(2));
      return;
    case Verb::kQuit:
      // "quit -t x" was seen to end the daemon at once, as after no time at all.
      if (word(1) == "-t") command.seconds = PidOf(word(2));
      return;
    case Verb::kSetDefaultPercentage: command.value = word(1); return;
    case Verb::kSetPercentage:
      command.server = PidOf(word(1));
      command.value = word(2);
      return;
    case Verb::kGetDefaultLimit: command.device = word(1); return;
    case Verb::kSetDefaultLimit:
      command.device = word(1);
      command.value = word(2);
      return;
    case Verb::kGetLimit:
    case Verb::kSetLimit:
      command.server = PidOf(word(1));
      command.device = word(2);
      command.value = word(3);
      return;
    case Verb::kSimFault: command.client = PidOf(word(1)); return;
    case Verb::kNothing:
    case Verb::kUnknown:
    case Verb::kGetServerList:
    case Verb::kGetDefaultPercentage: return;
  }
}

}  // namespace

Command ParseCommand(std::string_view line) {
  Command command;
  std::vector<std::string> words;
  for (const std::string_view word : base::SplitWords(line)) words.emplace_back(word);
  if (words.empty()) return command;
  command.verb = Verb::kUnknown;
  command.word = words.front();
  for (const Name& name : kNames) {
    if (name.word == words.front()) command.verb = name.verb;
  }
  ReadArguments(words, command);
  return command;
}

bool NeedsPrivilege(Verb verb) {
  switch (verb) {
    case Verb::kQuit:
    case Verb::kStartServer:
    case Verb::kShutdownServer:
    case Verb::kTerminateClient:
    case Verb::kSetDefaultPercentage:
    case Verb::kSetPercentage:
    case Verb::kSetDefaultLimit:
    case Verb::kSetLimit:
    case Verb::kSimFault: return true;
    case Verb::kNothing:
    case Verb::kUnknown:
    case Verb::kGetServerList:
    case Verb::kGetServerStatus:
    case Verb::kGetClientList:
    case Verb::kGetDeviceClientList:
    case Verb::kPs:
    case Verb::kGetDefaultPercentage:
    case Verb::kGetPercentage:
    case Verb::kGetDefaultLimit:
    case Verb::kGetLimit: return false;
  }
  return true;
}

}  // namespace partita::sim::mps
