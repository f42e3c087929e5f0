#include "agent/mps/pod/requests.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "agent/mps/domain_files.h"
#include "base/characters.h"
#include "base/files.h"
#include "base/text.h"
#include "service/mps/domain.h"

namespace partita::agent::mps::pod {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;
using service::mps::Directories;
using service::mps::DirectoriesOf;

constexpr std::size_t kLongestCommand = 200;
// 16 GPUs by UUID are 700.
constexpr std::size_t kLongestDevices = 4096;

// What daemon.cc says to a daemon. Others would change what nobody reads back.
constexpr std::array<std::string_view, 8> kVerbs = {
    "get_default_active_thread_percentage",
    "get_default_device_pinned_mem_limit",
    "get_server_list",
    "get_server_status",
    "quit",
    "set_default_active_thread_percentage",
    "set_default_device_pinned_mem_limit",
    "shutdown_server",
};

Error Refused(std::string_view what, std::string_view value) {
  return base::MakeError(ErrorCode::kInvalid, "the MPS runner does not take {} as {}",
                         base::Quoted(value), what);
}

Error NotBelow(std::string_view what, std::string_view path, std::string_view root) {
  return Refused(what, path)
      .WithHint(fmt::format("mps.root of the agent and --root of the runner, which is {}, are to "
                            "be the same",
                            root));
}

Result<std::string> TextOf(const Value& params, std::string_view key) {
  const Value* value = params.Find(key);
  if (value != nullptr && value->kind() == Value::Kind::kString) return value->AsString();
  return base::MakeError(ErrorCode::kInvalid, "the MPS runner needs {} as a text",
                         base::Quoted(key));
}

Result<std::vector<std::string>> TextsOf(const Value& params, std::string_view key) {
  std::vector<std::string> texts;
  const Value* list = params.Find(key);
  bool good = list != nullptr && list->kind() == Value::Kind::kList;
  if (good) {
    for (const Value& each : list->items()) {
      good = good && each.kind() == Value::Kind::kString;
      if (good) texts.push_back(each.AsString());
    }
  }
  if (good) return texts;
  return base::MakeError(ErrorCode::kInvalid, "the MPS runner needs {} as a list of texts",
                         base::Quoted(key));
}

bool IsLetterOrDigit(char c) {
  return base::IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsOf(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return IsLetterOrDigit(c) || others.find(c) != std::string_view::npos;
  });
}

// Whose directory this is. Any other spelling of the path is none.
Result<std::string> DomainOf(const std::string& path,
                             const std::string& root,
                             std::string Directories::*which,
                             std::string_view what) {
  const std::size_t last = path.rfind('/');
  const std::size_t before =
      last == std::string::npos || last == 0 ? last : path.rfind('/', last - 1);
  if (before == std::string::npos || before == last) return NotBelow(what, path, root);
  std::string name = path.substr(before + 1, last - before - 1);
  const bool good = service::mps::IsDomainName(name) && DirectoriesOf(root, name).*which == path;
  if (!good) return NotBelow(what, path, root);
  return name;
}

using Values = std::map<std::string, std::string, std::less<>>;

// Empty: it is not there.
std::string TakeValue(Values& values, std::string_view name) {
  const auto found = values.find(name);
  if (found == values.end()) return "";
  std::string value = std::move(found->second);
  values.erase(found);
  return value;
}

// Each of these once, and no other.
Result<void> CheckEnvironment(const std::vector<std::string>& environment,
                              const Directories& directories,
                              const std::string& root) {
  Values values;
  for (const std::string& each : environment) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || each.find('\0') != std::string::npos ||
        !values.emplace(each.substr(0, equals), each.substr(equals + 1)).second) {
      return Refused("environment", each);
    }
  }
  const std::string pipe = TakeValue(values, "CUDA_MPS_PIPE_DIRECTORY");
  if (pipe != directories.pipe) return NotBelow("CUDA_MPS_PIPE_DIRECTORY", pipe, root);
  const std::string log = TakeValue(values, "CUDA_MPS_LOG_DIRECTORY");
  if (log != directories.log) return NotBelow("CUDA_MPS_LOG_DIRECTORY", log, root);
  const std::string order = TakeValue(values, "CUDA_DEVICE_ORDER");
  if (order != "PCI_BUS_ID") return Refused("CUDA_DEVICE_ORDER", order);
  const std::string devices = TakeValue(values, "CUDA_VISIBLE_DEVICES");
  if (devices.empty() || devices.size() > kLongestDevices || !IsOf(devices, "-,/")) {
    return Refused("CUDA_VISIBLE_DEVICES", devices);
  }
  if (values.empty()) return {};
  return Refused("environment", values.begin()->first);
}

}  // namespace

Value ToParams(const Launch& launch) {
  Value arguments = Value::List();
  for (const std::string& each : launch.arguments) arguments.Add(each);
  Value environment = Value::List();
  for (const std::string& each : launch.environment) environment.Add(each);
  return Value::Map()
      .Set("domain", launch.domain)
      .Set("arguments", std::move(arguments))
      .Set("environment", std::move(environment))
      .Set("output", launch.output);
}

Result<Launch> ReadLaunch(const Value& params, const std::string& root) {
  Launch launch;
  TRY(domain, TextOf(params, "domain"));
  if (!service::mps::IsDomainName(domain)) return Refused("domain", domain);
  TRY(arguments, TextsOf(params, "arguments"));
  if (arguments != std::vector<std::string>{"-f"}) {
    return Refused("arguments", base::Join(arguments, " "));
  }
  const Directories directories = DirectoriesOf(root, domain);
  TRY(environment, TextsOf(params, "environment"));
  TRY_VOID(CheckEnvironment(environment, directories, root));
  TRY(output, TextOf(params, "output"));
  if (output != LogFile(directories)) return NotBelow("output", output, root);
  return Launch{.domain = std::move(domain),
                .arguments = std::move(arguments),
                .environment = std::move(environment),
                .output = std::move(output)};
}

Value ToParams(const Directories& directories, std::string_view command) {
  return Value::Map().Set("pipe", directories.pipe).Set("command", std::string(command));
}

Result<Question> ReadQuestion(const Value& params, const std::string& root) {
  TRY(pipe, TextOf(params, "pipe"));
  TRY(domain, DomainOf(pipe, root, &Directories::pipe, "pipe"));
  TRY(command, TextOf(params, "command"));
  const std::string_view verb = std::string_view(command).substr(0, command.find(' '));
  const bool known = std::find(kVerbs.begin(), kVerbs.end(), verb) != kVerbs.end();
  if (!known || command.size() > kLongestCommand || !IsOf(command, " -_.")) {
    return Refused("command", command);
  }
  return Question{.domain = std::move(domain), .command = std::move(command)};
}

Value ShmParams(const std::string& path) { return Value::Map().Set("shm", path); }

Result<std::string> ReadShm(const Value& params, const std::string& root) {
  TRY(path, TextOf(params, "shm"));
  return DomainOf(path, root, &Directories::shm, "shm");
}

}  // namespace partita::agent::mps::pod
