#include "hook/legacy/prestart.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "hook/call.h"
#include "hook/flags.h"
#include "hook/start.h"
#include "oci/bundle.h"
#include "request/mode.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;
using config::ToolkitConfig;
using request::Kind;
using Command = PrestartArguments::Command;

constexpr const char* kHookName = "nvidia-container-runtime-hook";
constexpr std::string_view kUsage =
    "usage: nvidia-container-runtime-hook [-debug] [-config FILE] [-version] COMMAND\n"
    "  prestart    give the container of the state on standard input its GPUs\n"
    "  poststart   nothing\n"
    "  poststop    nothing\n";

void Print(int fd, std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(fd, text.data(), text.size());
}

// What is there must be a container's, or nobody knows what was asked for.
base::Result<void> CheckSpec(const oci::Spec& spec) {
  TRY(document, base::ParseJson(spec.Text()));
  for (const char* member : {"ociVersion", "process", "root"}) {
    const base::Value* value = document.Find(member);
    if (value == nullptr || value->IsNull())
      return MakeError(ErrorCode::kInvalid, "there is no \"{}\"", member);
  }
  if (spec.root_path().empty()) return MakeError(ErrorCode::kInvalid, "there is no \"root.path\"");
  return {};
}

struct SpecRead {
  oci::Spec spec;
  BundleRead bundle;
};
base::Result<SpecRead> ReadSpec(const oci::State& state) {
  if (!state.bundle.starts_with('/'))
    return MakeError(ErrorCode::kInvalid,
                     "the container's state names no bundle by its whole path");
  TRY(bundle, oci::Bundle::Open(state.bundle));
  TRY(spec, bundle.Read());
  TRY_VOID(CheckSpec(spec), "{}/config.json", state.bundle);
  TRY(about, bundle.Look());
  return SpecRead{std::move(spec), {state.bundle, about.st_dev, about.st_ino}};
}

// The work is the same for every mode; only another platform's cannot be done.
base::Result<void> CheckMode(const ToolkitConfig& config, const request::Request& request) {
  if (config.hook_skip_mode_detection) return {};
  TRY_VOID(request::ResolveMode(config.runtime_mode, request, true));
  return {};
}

// "@/sbin/ldconfig" is the host's. A feature allows one of the image; that is never executed.
std::string LdconfigOf(const ToolkitConfig& config, const Report& report) {
  if (const auto path = base::WithoutPrefix(config.cli_ldconfig, "@")) return std::string(*path);
  report.Warning("no ldconfig of an image is executed: the host's is, for " +
                 base::Quoted(config.cli_ldconfig));
  return LegacyCall().ldconfig;
}

bool WantsCompat(const ToolkitConfig& config) {
  const std::string& mode = config.legacy_cuda_compat_mode;
  if (mode.empty()) return config.allow_cuda_compat_libs_from_container.value_or(false);
  // "mount" mounts files of the image over others of it; that they are listed first has the same
  // effect. "hook": a hook of the runtime does it.
  return mode == "ldconfig" || mode == "mount";
}

base::Result<void> Prestart(const std::string& config_path, bool required, const Report& report) {
  std::vector<std::string> warnings;
  TRY(config, config::LoadToolkitConfig(config_path, required, &warnings));
  for (const std::string& warning : warnings) report.Debug(warning);
  TRY(state, ReadState(""));
  TRY(call, ReadPrestart(state, config, report));
  if (!call) return {};
  return InjectLegacy(*call, report);
}

}  // namespace

base::Result<PrestartArguments> ParsePrestart(std::span<const std::string> arguments) {
  constexpr Flag kFlags[] = {
      {"debug", Takes::kNothing}, {"config", Takes::kValue}, {"version", Takes::kNothing}};
  PrestartArguments parsed;
  // The command ends them; what is behind it is nobody's.
  std::size_t command = 0;
  while (command < arguments.size() && arguments[command].starts_with('-'))
    command += arguments[command] == "-config" || arguments[command] == "--config" ? 2 : 1;
  command = std::min(command, arguments.size());
  TRY(flags, Flags::Parse(arguments.first(command), kFlags));
  parsed.debug = flags.Value("debug", "false") != "false";
  parsed.config = flags.Value("config");
  if (flags.Value("version", "false") != "false") {
    parsed.command = Command::kVersion;
    return parsed;
  }
  if (command == arguments.size()) return MakeError(ErrorCode::kInvalid, "no command is named");
  const std::string& word = arguments[command];
  if (word == "prestart") parsed.command = Command::kPrestart;
  if (word == "prestart" || word == "poststart" || word == "poststop") return parsed;
  return MakeError(ErrorCode::kInvalid, "there is no command {}", base::Quoted(word));
}

base::Result<std::optional<LegacyCall>> ReadPrestart(const oci::State& state,
                                                     const ToolkitConfig& config,
                                                     const Report& report) {
  TRY(read, ReadSpec(state));
  TRY(request, request::ReadRequest(read.spec, config, false));
  for (const std::string& warning : request.warnings) report.Warning(warning);
  if (request.kind == Kind::kNotGpu) return std::optional<LegacyCall>();
  TRY_VOID(CheckMode(config, request));
  LegacyCall call;
  call.request = std::move(request);
  call.pid = state.pid;
  call.root.path = read.spec.root_path();
  if (!call.root.path.starts_with('/')) call.root.bundle = std::move(read.bundle);
  call.driver_root = config.cli_root;
  call.ldconfig = LdconfigOf(config, report);
  call.cgroups = !config.cli_no_cgroups;
  call.cuda_compat = WantsCompat(config);
  return std::optional(std::move(call));
}

int RunPrestartHook(std::span<char*> arguments) {
  const std::string usual = config::ToolkitConfigPath(base::ReadVariable);
  const bool named = base::ReadVariable("NVIDIA_CTK_CONFIG_FILE_PATH").value_or("") == usual;
  const Wishes wishes = StartClean();
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  const base::Result<PrestartArguments> parsed = ParsePrestart(words);
  const bool debug = wishes.debug || (parsed.ok() && parsed->debug);
  const Report report(kHookName, debug ? Report::Level::kDebug : Report::Level::kWarning);
  if (!parsed.ok()) {
    report.Error(parsed.error());
    Print(STDERR_FILENO, kUsage);
    return 2;
  }
  if (parsed->command == Command::kVersion)
    Print(STDOUT_FILENO, fmt::format("{} (partita {})\n", kHookName, PARTITA_VERSION));
  if (parsed->command != Command::kPrestart) return 0;
  const std::string& config = parsed->config.empty() ? usual : parsed->config;
  const base::Result<void> done = Prestart(config, named || !parsed->config.empty(), report);
  if (done.ok()) return 0;
  report.Error(done.error());
  return 1;
}

}  // namespace partita::hook
