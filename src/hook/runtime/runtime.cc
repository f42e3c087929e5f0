#include "hook/runtime/runtime.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cdi/text.h"
#include "config/toolkit_config.h"
#include "hook/node_source.h"
#include "hook/runtime/arguments.h"
#include "hook/runtime/edit.h"
#include "hook/runtime/log.h"
#include "hook/runtime/low_level.h"
#include "oci/bundle.h"
#include "request/device_id.h"

namespace partita::hook {
namespace {

using base::Result;

constexpr const char* kOciVersion = "1.3.0";  // whose members are edited; newer ones stay
constexpr const char* kConfigVariable = "NVIDIA_CTK_CONFIG_FILE_PATH";

// A file that is opened later must not become standard output. They are closed again for the
// low-level runtime.
void OccupyStandardDescriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int opened = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (opened >= 0 && opened != fd) close(opened);
  }
}

// Whoever runs programs must hear of their end, and the low-level runtime gets what the engine had.
class KeptChildSignal {
 public:
  KeptChildSignal() { sigaction(SIGCHLD, nullptr, &kept_); }
  ~KeptChildSignal() { sigaction(SIGCHLD, &kept_, nullptr); }
  KeptChildSignal(const KeptChildSignal&) = delete;
  KeptChildSignal& operator=(const KeptChildSignal&) = delete;

 private:
  struct sigaction kept_ {};
};

// Kernels without modules have no list of them; a driver shows itself all the same.
bool IsDriverLoaded() {
  const Result<std::string> modules = base::ReadFile("/proc/modules");
  if (modules.ok() && ("\n" + *modules).find("\nnvidia ") != std::string::npos) return true;
  return access("/proc/driver/nvidia", F_OK) == 0;
}

Result<base::FileFacts> LookAtHost(const std::string& path) {
  struct stat about = {};
  if (lstat(path.c_str(), &about) != 0) return base::ErrnoError(fmt::format("look at {}", path));
  base::FileFacts facts;
  facts.mode = about.st_mode;
  facts.device = about.st_rdev;
  facts.uid = about.st_uid;
  facts.gid = about.st_gid;
  facts.size = static_cast<std::uint64_t>(about.st_size);
  return facts;
}

bool HasAll(const cdi::NodeDevices& node, std::span<const std::string> ids) {
  if (ids.empty() || ids.front() == "all" || ids.front() == "none") return true;
  const auto rows = request::Resolve(ids, node);
  if (!rows.ok()) return false;
  for (const cdi::DeviceRow* row : *rows) {
    if (row->cdi_name.empty()) return false;
  }
  return true;
}

std::string PrestartProgram(const config::ToolkitConfig& config, const std::string& self) {
  if (config.hook_path.starts_with('/')) return config.hook_path;
  const std::string found = FindProgram(config.hook_path, base::ReadVariable("PATH").value_or(""));
  return found.empty() ? self : found;
}

Result<NodeFacts> MakeFacts(const config::ToolkitConfig& config) {
  NodeSource source;
  source.driver_root = config.cli_root;
  TRY(self, base::ReadLink("/proc/self/exe"));
  NodeFacts facts;
  facts.devices = [source](std::span<const std::string> ids) {
    const KeptChildSignal kept;
    return ReadNode(source, [ids](const cdi::NodeDevices& node) { return HasAll(node, ids); });
  };
  facts.mode_spec = [source](const std::string& mode) -> Result<cdi::Spec> {
    const KeptChildSignal kept;
    TRY(text, CallPartita(source, {"cdi", "generate", "--mode", mode, "--vendor",
                                   "runtime.nvidia.com", "--output", "json"}));
    return cdi::Parse(std::move(text), "partita cdi generate --mode " + mode);
  };
  facts.registry = [&config] { return cdi::Registry::Read(config.cdi_spec_dirs); };
  facts.read_file = [](const std::string& path) { return base::ReadFile(path); };
  facts.look = LookAtHost;
  facts.hook_program = self;
  facts.prestart_program = PrestartProgram(config, self);
  facts.prestart_env = {"NVIDIA_CTK_DEBUG=false"};
  if (const auto file = base::ReadVariable(kConfigVariable); file && !file->empty())
    facts.prestart_env.push_back(fmt::format("{}={}", kConfigVariable, *file));
  return facts;
}

// Nothing is written where nothing is to be changed; then the answer is false.
Result<bool> EditBundle(const std::string& path,
                        const config::ToolkitConfig& config,
                        bool driver_loaded,
                        RuntimeLog& log) {
  constexpr const char* kReading = "error reading OCI specification";
  TRY(bundle, oci::Bundle::Open(path.empty() ? "." : path), "{}", kReading);
  TRY(spec, bundle.Read(), "{}", kReading);
  constexpr const char* kApplying = "could not apply required modification to OCI specification";
  TRY(facts, MakeFacts(config), "{}", kApplying);
  facts.driver_loaded = driver_loaded;
  TRY(edit, EditSpec(spec, config, facts), "{}", kApplying);
  for (const std::string& warning : edit.warnings) log.Warning(warning);
  if (!edit.changed) {
    log.Debug("no device is requested: nothing is modified");
    return false;
  }
  log.Info(edit.summary);
  TRY_VOID(bundle.Write(spec), "{}", kApplying);
  return true;
}

struct Program {
  std::string name, mode;  // mode: "" unless the name says one
};
Program CalledProgram(std::string_view path) {
  Program program{std::string(path.substr(path.rfind('/') + 1)), ""};
  for (const char* mode : {"cdi", "legacy"}) {
    if (program.name.ends_with(std::string(".") + mode)) program.mode = mode;
  }
  return program;
}

void TellVersion() {
  const std::string text =
      fmt::format("NVIDIA Container Runtime, by partita, version {}\nspec: {}\n\n", PARTITA_VERSION,
                  kOciVersion);
  // What follows is the low-level runtime's own.
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
}

void OpenLogs(RuntimeLog& log, const RuntimeCall& call, const config::ToolkitConfig& config) {
  if (call.version) return;
  std::optional<RuntimeLog::Level> level = RuntimeLog::ParseLevel(config.runtime_log_level);
  if (call.debug) level = RuntimeLog::Level::kDebug;
  log.Open({config.runtime_debug, call.log}, call.log_format == "json",
           level.value_or(RuntimeLog::Level::kInfo));
  if (!level)
    log.Warning("invalid log-level " + base::Quoted(config.runtime_log_level) + ": it is info");
}

// A container that exists must be reachable whatever became of the file since.
Result<config::ToolkitConfig> LoadConfig(bool create, std::vector<std::string>& warnings) {
  Result<config::ToolkitConfig> config =
      config::LoadToolkitConfig(config::ToolkitConfigPath(base::ReadVariable), false, &warnings);
  if (config.ok() || create) return config;
  warnings.push_back("defaults are used: " + config.error().ToString());
  return config::ToolkitConfig{};
}

Result<void> Prepare(const RuntimeCall& call,
                     const config::ToolkitConfig& config,
                     const std::string& low_level,
                     RuntimeLog& log) {
  if (!call.create) return {};
  const bool driver_loaded = IsDriverLoaded();
  TRY(changed, EditBundle(call.bundle, config, driver_loaded, log));
  if (!driver_loaded && !changed)
    log.Warning(fmt::format("no NVIDIA driver is loaded: {} is called directly", low_level));
  return {};
}

// Returns only with an error.
Result<void> BecomeLowLevelRuntime(std::span<char*> arguments,
                                   const Program& program,
                                   RuntimeLog& log) {
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  TRY(call, ReadRuntimeArguments(words));
  if (call.version) TellVersion();
  std::vector<std::string> warnings;
  Result<config::ToolkitConfig> config = LoadConfig(call.create, warnings);
  OpenLogs(log, call, config.ok() ? *config : config::ToolkitConfig{});
  // Others than a create have an engine that shows what they say.
  if (call.create || !config.ok())
    for (const std::string& warning : warnings) log.Warning(warning);
  if (!config.ok()) return std::move(config).error().Within("error loading config");
  if (!program.mode.empty()) config->runtime_mode = program.mode;
  TRY(low_level, FindLowLevelRuntime(config->runtimes, base::ReadVariable("PATH").value_or("")));
  TRY_VOID(Prepare(call, *config, low_level, log));
  log.Debug("calling " + low_level);
  return ExecLowLevelRuntime(low_level, arguments.subspan(1));
}

}  // namespace

int RunRuntime(std::span<char*> arguments) {
  OccupyStandardDescriptors();
  const Program program = CalledProgram(arguments[0]);
  RuntimeLog log(program.name);
  const Result<void> result = BecomeLowLevelRuntime(arguments, program, log);
  log.Error(result.error());
  return 1;
}

}  // namespace partita::hook
