#include "service/mps/protocol.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/files.h"
#include "base/text.h"

namespace partita::service::mps {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::uint64_t kMebibytesOfGibibyte = 1024;
// No device has a pebibyte; what is more is not an answer.
constexpr std::uint64_t kMostMebibytes = std::uint64_t{1} << 30;
constexpr std::uint32_t kTenths = 10, kMostTenths = 1000;

Error Unexpected(std::string_view what, std::string_view answer) {
  return base::MakeError(ErrorCode::kInternal, "the MPS control daemon answers {} for {}",
                         base::Quoted(answer), what)
      .WithHint("see its log; the driver may be one that partita does not know");
}

// As the daemon writes states: in capitals, and nothing else.
bool IsWordOfState(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char character) {
    return (character >= 'A' && character <= 'Z') || character == '_';
  });
}

// As the daemon writes it: whole GiB from 1 GiB on.
std::string Shown(model::Mebibytes limit) {
  const std::uint64_t gibibytes = limit.value() / kMebibytesOfGibibyte;
  return gibibytes > 0 ? fmt::format("{}G", gibibytes) : fmt::format("{}M", limit);
}

Error NotInForce(const Setting& setting, std::string_view expected, std::string_view answer) {
  return base::MakeError(ErrorCode::kConflict,
                         "after \"{}\" the MPS control daemon has {} in force, not {}", setting.set,
                         answer.empty() ? "nothing" : base::Quoted(answer), expected)
      .WithHint("see its log");
}

}  // namespace

Directories DirectoriesOf(std::string_view root, const std::string& name) {
  const std::string directory = base::JoinPath(root, name);
  return {.pipe = base::JoinPath(directory, "pipe"),
          .log = base::JoinPath(directory, "log"),
          .shm = base::JoinPath(directory, "shm"),
          .record = base::JoinPath(directory, "domain.json")};
}

std::vector<std::string> EnvironmentToAsk(const Directories& directories) {
  return {"CUDA_MPS_PIPE_DIRECTORY=" + directories.pipe,
          "CUDA_MPS_LOG_DIRECTORY=" + directories.log};
}

std::vector<std::string> EnvironmentOf(const Domain& domain, const Directories& directories) {
  std::vector<std::string> uuids;
  for (const Member& member : domain.members) uuids.push_back(member.uuid);
  std::vector<std::string> environment = EnvironmentToAsk(directories);
  environment.push_back("CUDA_VISIBLE_DEVICES=" + base::Join(uuids, ","));
  environment.emplace_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
  return environment;
}

std::vector<Setting> SettingsOf(const Domain& domain) {
  std::vector<Setting> settings;
  settings.reserve(domain.memory.size() + 1);
  for (std::size_t i = 0; i < domain.memory.size(); ++i) {
    settings.push_back(
        {.set = fmt::format("set_default_device_pinned_mem_limit {} {}M", i, domain.memory[i]),
         .get = fmt::format("get_default_device_pinned_mem_limit {}", i),
         .memory = domain.memory[i],
         .threads = std::nullopt});
  }
  settings.push_back({.set = fmt::format("set_default_active_thread_percentage {}", domain.threads),
                      .get = "get_default_active_thread_percentage",
                      .memory = std::nullopt,
                      .threads = domain.threads});
  return settings;
}

Result<std::optional<model::Mebibytes>> ParseMemoryLimit(std::string_view answer) {
  const std::string_view text = base::Trim(answer);
  if (text.empty()) return std::optional<model::Mebibytes>();
  const char unit = text.back();
  const std::optional<std::uint64_t> number = base::ParseUnsigned(text.substr(0, text.size() - 1));
  const std::uint64_t scale = unit == 'G' ? kMebibytesOfGibibyte : 1;
  if (!number || (unit != 'G' && unit != 'M') || *number == 0 || *number > kMostMebibytes / scale) {
    return Unexpected("a memory limit", text);
  }
  return std::optional(model::Mebibytes(*number * scale));
}

Result<std::uint32_t> ParsePercentage(std::string_view answer) {
  const std::string_view text = base::Trim(answer);
  const std::vector<std::string_view> parts = base::Split(text, '.');
  if (parts.size() != 2 || parts[1].size() != 1) return Unexpected("a percentage", text);
  const std::optional<std::uint64_t> whole = base::ParseUnsigned(parts[0]);
  const std::optional<std::uint64_t> tenth = base::ParseUnsigned(parts[1]);
  if (!whole || !tenth || *whole > kMostTenths / kTenths) return Unexpected("a percentage", text);
  const auto tenths = static_cast<std::uint32_t>(*whole * kTenths + *tenth);
  if (tenths > kMostTenths) return Unexpected("a percentage", text);
  return tenths;
}

Result<void> CheckReadBack(const Setting& setting, std::string_view answer) {
  const std::string_view text = base::Trim(answer);
  if (setting.memory) {
    TRY(limit, ParseMemoryLimit(text));
    if (!limit || Shown(*limit) != Shown(*setting.memory)) {
      return NotInForce(setting, Shown(*setting.memory), text);
    }
  }
  if (setting.threads) {
    TRY(tenths, ParsePercentage(text));
    if (tenths != setting.threads->value() * kTenths) {
      return NotInForce(setting, fmt::format("{}.0", *setting.threads), text);
    }
  }
  return {};
}

Result<std::vector<model::Pid>> ParseServerList(std::string_view answer) {
  std::vector<model::Pid> servers;
  for (const std::string_view line : base::SplitLines(answer)) {
    if (base::Trim(line).empty()) continue;
    const std::optional<std::uint64_t> pid = base::ParseUnsigned(base::Trim(line));
    // 0 would be a process group, and more than this no pid.
    if (!pid || *pid == 0 || *pid > std::numeric_limits<std::int32_t>::max()) {
      return Unexpected("its servers", base::Trim(answer));
    }
    servers.emplace_back(static_cast<std::int64_t>(*pid));
  }
  return servers;
}

Result<ServerState> ParseServerStatus(std::string_view answer) {
  const std::string_view text = base::Trim(answer);
  if (text == "ACTIVE") return ServerState::kActive;
  if (text == "FAULT") return ServerState::kFault;
  if (text == "INITIALIZING") return ServerState::kInitializing;
  if (text.starts_with("Server ") && text.ends_with(" not found")) return ServerState::kGone;
  if (IsWordOfState(text)) return ServerState::kOther;
  return Unexpected("the state of a server", text);
}

std::string AskStatus(model::Pid server) { return fmt::format("get_server_status {}", server); }

std::string EndServer(model::Pid server) { return fmt::format("shutdown_server {} -f", server); }

std::string Quit(std::uint32_t seconds) { return fmt::format("quit -t {}", seconds); }

bool TellsOfFault(std::string_view line) {
  // Of the server's lines only: a client's name or a command is text of somebody else's, in lines
  // of the daemon.
  constexpr std::string_view kWho = " Server ";
  constexpr std::string_view kFault = "] Server is handling a fatal GPU error.";
  return line.starts_with('[') && line.ends_with(kFault) && line.find(kWho) < line.find(']');
}

std::string MemoryVariable(const std::vector<model::Mebibytes>& limits) {
  std::vector<std::string> parts;
  parts.reserve(limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    parts.push_back(fmt::format("{}={}M", i, limits[i]));
  }
  return base::Join(parts, ",");
}

}  // namespace partita::service::mps
