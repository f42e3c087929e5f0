#include "hook/legacy/cli_arguments.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "hook/flags.h"
#include "hook/report.h"
#include "hook/start.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;
using cdi::Capability;
using request::Kind;

constexpr const char* kCliName = "nvidia-container-cli";

// Of the driver's modules, users and loader's cache nothing is left to be told: the node is known
// by other means.
constexpr Flag kGlobalFlags[] = {
    {"debug", Takes::kValue},      {"load-kmods", Takes::kNothing},
    {"no-pivot", Takes::kNothing}, {"no-create-imex-channels", Takes::kNothing},
    {"user", Takes::kNothing},     {"root", Takes::kValue},
    {"ldcache", Takes::kValue}};

constexpr Capability kCapabilities[] = {
    Capability::kCompute, Capability::kUtility, Capability::kVideo,   Capability::kGraphics,
    Capability::kDisplay, Capability::kNgx,     Capability::kCompat32};

std::vector<Flag> ConfigureFlags() {
  std::vector<Flag> flags = {{"pid", Takes::kValue},
                             {"device", Takes::kValues},
                             {"require", Takes::kValues},
                             {"ldconfig", Takes::kValue},
                             {"mig-config", Takes::kValue},
                             {"mig-monitor", Takes::kValue},
                             {"imex-channel", Takes::kValues},
                             {"cuda-compat-mode", Takes::kValue},
                             {"no-cgroups", Takes::kNothing},
                             {"no-devbind", Takes::kNothing},
                             {"no-gsp-firmware", Takes::kNothing},
                             {"no-persistenced", Takes::kNothing},
                             {"no-fabricmanager", Takes::kNothing},
                             {"no-cntlibs", Takes::kNothing}};
  for (const Capability each : kCapabilities)
    flags.push_back({cdi::ToString(each), Takes::kNothing});
  return flags;
}

void AddItems(const std::vector<std::string>& lists, std::vector<std::string>& items) {
  for (const std::string& list : lists) {
    for (const std::string_view piece : base::Split(list, ',')) {
      const std::string item(base::Trim(piece));
      if (!item.empty() && std::find(items.begin(), items.end(), item) == items.end())
        items.push_back(item);
    }
  }
}

base::Result<bool> ReadAll(const Flags& flags, std::string_view name) {
  if (!flags.Has(name)) return false;
  if (base::ToLower(flags.Value(name)) == "all") return true;
  return MakeError(ErrorCode::kInvalid, "--{} can only be \"all\"", name);
}

base::Result<request::Request> ReadRequest(const Flags& flags) {
  request::Request request;
  AddItems(flags.Values("device"), request.devices);
  const auto all = std::find_if(request.devices.begin(), request.devices.end(),
                                [](const std::string& id) { return base::ToLower(id) == "all"; });
  request.kind = request.devices.empty()        ? Kind::kNone
                 : all != request.devices.end() ? Kind::kAll
                                                : Kind::kDevices;
  if (request.kind == Kind::kAll) request.devices.clear();
  for (const Capability each : kCapabilities) {
    if (flags.Has(cdi::ToString(each))) request.capabilities.insert(each);
  }
  request.requirements = flags.Values("require");
  TRY(config, ReadAll(flags, "mig-config"));
  TRY(monitor, ReadAll(flags, "mig-monitor"));
  request.mig_config = config;
  request.mig_monitor = monitor;
  AddItems(flags.Values("imex-channel"), request.imex_channels);
  for (const std::string& channel : request.imex_channels) {
    const auto number = base::ParseUnsigned(channel);
    if (!number || *number > 0xffff'ffffU)
      return MakeError(ErrorCode::kInvalid, "{} is no number of an IMEX channel",
                       base::Quoted(channel));
  }
  return request;
}

base::Result<LegacyCall> ReadConfigure(std::span<const std::string> arguments) {
  if (arguments.empty() || !arguments.back().starts_with('/'))
    return MakeError(ErrorCode::kInvalid, "the container's root is not named by its whole path");
  TRY(flags, Flags::Parse(arguments.first(arguments.size() - 1), ConfigureFlags()));
  LegacyCall call;
  call.root.path = arguments.back();
  const auto pid = base::ParseUnsigned(flags.Value("pid"));
  if (!pid || *pid == 0 || *pid > 0x7fff'ffffU)
    return MakeError(ErrorCode::kInvalid, "--pid is not the number of the container's process");
  call.pid = static_cast<std::int64_t>(*pid);
  TRY(request, ReadRequest(flags));
  call.request = std::move(request);
  const std::string ldconfig = flags.Value("ldconfig", "@/sbin/ldconfig");
  const auto path = base::WithoutPrefix(ldconfig, "@");
  if (!path || path->empty())
    return MakeError(ErrorCode::kInvalid, "--ldconfig is {}", base::Quoted(ldconfig))
        .WithHint("write @/sbin/ldconfig: the host's, which alone is executed");
  call.ldconfig = std::string(*path);
  call.cgroups = !flags.Has("no-cgroups");
  call.bind_nodes = !flags.Has("no-devbind");
  const std::string compat = flags.Value("cuda-compat-mode", "disabled");
  call.cuda_compat = compat == "ldconfig" || compat == "mount";
  return call;
}

}  // namespace

base::Result<CliCall> ParseContainerCli(std::span<const std::string> arguments) {
  const auto command =
      std::find_if(arguments.begin(), arguments.end(), [](const std::string& word) {
        return word == "configure" || word == "info" || word == "list";
      });
  if (command == arguments.end())
    return MakeError(ErrorCode::kInvalid, "no command is named").WithHint("there is: configure");
  if (*command != "configure")
    return MakeError(ErrorCode::kUnsupported, "its command {} is not here", *command)
        .WithHint("partita status and partita cdi generate say what it said");
  const auto before = static_cast<std::size_t>(command - arguments.begin());
  TRY(global, Flags::Parse(arguments.first(before), kGlobalFlags));
  CliCall parsed;
  parsed.debug = global.Has("debug");
  TRY(call, ReadConfigure(arguments.subspan(before + 1)));
  parsed.call = std::move(call);
  parsed.call.driver_root = global.Value("root");
  return parsed;
}

int RunContainerCli(std::span<char*> arguments) {
  StartClean();
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  base::Result<CliCall> parsed = ParseContainerCli(words);
  const bool debug = parsed.ok() && parsed->debug;
  const Report report(kCliName, debug ? Report::Level::kDebug : Report::Level::kWarning);
  const base::Result<void> done = parsed.ok() ? InjectLegacy(parsed->call, report)
                                              : base::Result<void>(std::move(parsed).error());
  if (done.ok()) return 0;
  report.Error(done.error());
  return 1;
}

}  // namespace partita::hook
