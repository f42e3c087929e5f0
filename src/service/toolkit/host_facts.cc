#include "service/toolkit/host_facts.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"

#include "base/root_dir.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "cdi/registry.h"
#include "config/toml/edit.h"
#include "hw/device_nodes.h"
#include "hw/nvml/driver.h"
#include "hw/nvml/library.h"
#include "service/toolkit/containerd_tables.h"

namespace partita::service::toolkit {
namespace {

constexpr const char* kRuntimeConfig = "/etc/nvidia-container-runtime/config.toml";
constexpr std::size_t kMostFileBytes = std::size_t{4} << 20;

// The host's files, seen from wherever they are mounted.
class Host {
 public:
  Host(base::RootDir root, const HostOptions& options)
      : root_(std::move(root)), options_(options) {}

  // Links followed, inside the host.
  [[nodiscard]] std::optional<base::FileFacts> Look(const std::string& path) const {
    const base::Result<std::string> resolved = root_.Resolve(path);
    if (!resolved.ok()) return std::nullopt;
    base::Result<base::FileFacts> facts = root_.Look(*resolved);
    if (!facts.ok()) return std::nullopt;
    return *facts;
  }

  [[nodiscard]] std::optional<std::string> Read(const std::string& path) const {
    base::Result<std::string> text = root_.Read(path, kMostFileBytes);
    if (!text.ok()) return std::nullopt;
    return *std::move(text);
  }

  [[nodiscard]] std::vector<std::string> List(const std::string& path) const {
    base::Result<std::vector<std::string>> names = root_.List(path);
    return names.ok() ? *std::move(names) : std::vector<std::string>();
  }

  // As this process names it; for those that read by path.
  [[nodiscard]] std::string OnHost(const std::string& path) const {
    const base::Result<std::string> resolved = root_.Resolve(path);
    return base::JoinPath(options_.host_root, resolved.ok() ? *resolved : path);
  }

  [[nodiscard]] std::optional<std::string> FindProgram(std::string_view name) const {
    for (const std::string_view folder : base::Split(options_.search_path, ':')) {
      if (!folder.starts_with('/')) continue;
      const std::string path = base::JoinPath(folder, name);
      const std::optional<base::FileFacts> facts = Look(path);
      if (facts && facts->IsRegular() && (facts->mode & 0111) != 0) return path;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool IsThisMachine() const { return options_.host_root == "/"; }

 private:
  base::RootDir root_;
  const HostOptions& options_;
};

bool WritableByOthers(const base::FileFacts& facts) {
  return facts.uid != 0 || (facts.mode & (S_IWGRP | S_IWOTH)) != 0;
}

// Whoever may write a folder may put another file in the place of one in it.
ProgramFacts LookAtProgram(const Host& host, const std::string& path) {
  ProgramFacts program = {path};
  const std::optional<base::FileFacts> facts = host.Look(path);
  if (!facts || !facts->IsRegular()) return program;
  program.there = true;
  program.executable = (facts->mode & 0111) != 0;
  const std::size_t slash = path.rfind('/');
  const std::optional<base::FileFacts> folder = host.Look(slash == 0 ? "/" : path.substr(0, slash));
  program.open = WritableByOthers(*facts) || (folder && WritableByOthers(*folder));
  return program;
}

void AddHook(const Host& host, const std::string& path, const std::string& spec, HostFacts& facts) {
  const bool known = std::any_of(facts.hooks.begin(), facts.hooks.end(),
                                 [&](const ProgramFacts& each) { return each.path == path; });
  if (known || !path.starts_with('/')) return;
  facts.hooks.push_back(LookAtProgram(host, path));
  facts.hooks.back().spec = spec;
}

void CheckNode(const Host& host, const cdi::DeviceNode& node, SpecFacts& spec) {
  const std::string& path = node.host_path.empty() ? node.path : node.host_path;
  const std::optional<base::FileFacts> facts = host.Look(path);
  if (!facts) {
    spec.missing.push_back(path);
    return;
  }
  const auto has_major = static_cast<std::int64_t>(major(facts->device));
  const auto has_minor = static_cast<std::int64_t>(minor(facts->device));
  const bool numbered = node.major != 0 || node.minor != 0;
  if (numbered && (has_major != node.major || has_minor != node.minor)) {
    spec.missing.push_back(
        fmt::format("{} ({}:{}, not {}:{})", path, has_major, has_minor, node.major, node.minor));
  }
}

void CheckEdits(const Host& host,
                const cdi::ContainerEdits& edits,
                SpecFacts& spec,
                HostFacts& facts) {
  for (const cdi::DeviceNode& node : edits.device_nodes) CheckNode(host, node, spec);
  for (const cdi::Mount& mount : edits.mounts) {
    if (mount.host_path.starts_with('/') && !host.Look(mount.host_path))
      spec.missing.push_back(mount.host_path);
  }
  for (const cdi::Hook& hook : edits.hooks)
    AddHook(host, hook.path, spec.kind == kGpuKind ? spec.path : "", facts);
}

void ReadSpecs(const Host& host, const HostOptions& options, HostFacts& facts) {
  std::vector<std::string> directories;
  for (const std::string& directory : options.spec_directories) {
    const std::optional<base::FileFacts> folder = host.Look(directory);
    if (!folder) continue;
    directories.push_back(host.OnHost(directory));
    if (WritableByOthers(*folder)) facts.open_spec_directories.push_back(directory);
    for (const std::string& name : host.List(directory)) {
      if (name.ends_with(".yml")) facts.misnamed_specs.push_back(base::JoinPath(directory, name));
    }
  }
  const cdi::Registry registry = cdi::Registry::Read(directories);
  for (const cdi::Registry::Problem& problem : registry.problems())
    facts.spec_problems.push_back(problem.error.ToString());
  for (const cdi::Registry::File& file : registry.files()) {
    SpecFacts spec = {file.path, file.spec.kind, file.spec.version, {}, {}};
    struct stat about = {};
    spec.open = stat(file.path.c_str(), &about) == 0 &&
                (about.st_uid != 0 || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0);
    CheckEdits(host, file.spec.edits, spec, facts);
    for (const cdi::Device& device : file.spec.devices) {
      spec.devices.push_back(device.name);
      CheckEdits(host, device.edits, spec, facts);
    }
    std::sort(spec.missing.begin(), spec.missing.end());
    spec.missing.erase(std::unique(spec.missing.begin(), spec.missing.end()), spec.missing.end());
    facts.specs.push_back(std::move(spec));
  }
}

// Files of hooks.d whose hook is NVIDIA's.
void ReadHookFiles(const Host& host, const HostOptions& options, HostFacts& facts) {
  for (const std::string& directory : options.hook_directories) {
    for (const std::string& name : host.List(directory)) {
      const std::string path = base::JoinPath(directory, name);
      const std::optional<std::string> text = host.Read(path);
      if (!name.ends_with(".json") || !text) continue;
      const base::Result<base::Value> document = base::ParseJson(*text);
      const base::Value* hook = document.ok() ? document->Find("hook") : nullptr;
      const base::Value* program = hook == nullptr ? nullptr : hook->Find("path");
      if (program == nullptr || program->kind() != base::Value::Kind::kString) continue;
      if (program->AsString().find("nvidia-container") == std::string::npos) continue;
      facts.hook_files.push_back(path);
      AddHook(host, program->AsString(), "", facts);
    }
  }
}

void AskDriver(const HostOptions& options, HostFacts& facts) {
  hw::nvml::Driver driver(
      {.search = {.path = options.library, .driver_root = options.driver_root}, .lanes = {}});
  const hw::nvml::Driver::Report report =
      driver.Run("", driver.LimitsFor(), [](const hw::nvml::Session&, hw::nvml::CallWatch&) {});
  if (report.Done()) return;
  facts.answer_error = report.error ? report.error->ToString() : "its library hangs";
  const std::optional<base::NativeCode> code = report.error ? report.error->native() : std::nullopt;
  facts.versions_differ = code && code->value == hw::nvml::NVML_ERROR_LIB_RM_VERSION_MISMATCH;
}

void ReadLibrary(const HostOptions& options, HostFacts& facts) {
  struct stat root = {};
  if (stat(options.driver_root.c_str(), &root) != 0 || !S_ISDIR(root.st_mode)) {
    facts.library_error = fmt::format("the driver root {} is not there", options.driver_root);
    return;
  }
  const base::Result<std::shared_ptr<const hw::nvml::Library>> library =
      hw::nvml::Library::Open({.path = options.library, .driver_root = options.driver_root});
  if (!library.ok()) {
    facts.library_error = library.error().ToString();
    return;
  }
  facts.library = (*library)->path();
  const base::Result<std::string> inside = base::RealPath(options.driver_root);
  const base::Result<std::string> real = base::RealPath(facts.library);
  facts.library_outside = options.driver_root != "/" && options.library.empty() && inside.ok() &&
                          real.ok() && !real->starts_with(*inside + "/");
  using Resolved = std::unique_ptr<char, decltype([](char* text) { free(text); })>;
  const Resolved resolved(realpath(facts.library.c_str(), nullptr));
  const std::string_view name = resolved == nullptr ? facts.library.c_str() : resolved.get();
  const std::size_t version = name.rfind(".so.");
  if (version == std::string_view::npos) return;
  const std::string_view digits = name.substr(version + 4);
  if (digits.find('.') != std::string_view::npos) facts.library_version = digits;
}

std::string AskVersion(const Host& host, const std::string& program) {
  if (!host.IsThisMachine()) return "";
  base::Subprocess command;
  command.arguments = {program, "--version"};
  command.limit = std::chrono::seconds(5);
  const base::Result<base::SubprocessResult> ended = base::Run(command);
  return ended.ok() && ended->Succeeded() ? VersionIn(ended->output) : "";
}

void AddNamedRuntime(const Host& host,
                     const std::string& name,
                     const std::string& path,
                     bool is_default,
                     EngineFacts& engine) {
  for (RuntimeFacts& known : engine.runtimes) {
    if (known.name == name) {
      known.is_default = known.is_default || is_default;
      return;
    }
  }
  RuntimeFacts runtime = {name, path, is_default};
  if (!path.empty() && !path.starts_with('/')) {
    runtime.there = runtime.executable = host.FindProgram(path).has_value();
  } else if (const auto about = host.Look(path); !path.empty() && about && about->IsRegular()) {
    runtime.there = true;
    runtime.executable = (about->mode & 0111) != 0;
  }
  engine.runtimes.push_back(std::move(runtime));
}

std::string TextAt(const base::Value* map, std::string_view key) {
  const base::Value* value = map == nullptr ? nullptr : map->Find(key);
  const bool text = value != nullptr && value->kind() == base::Value::Kind::kString;
  return text ? value->AsString() : "";
}

void ReadDockerRuntimes(const Host& host, EngineFacts& engine) {
  const base::Result<base::Value> config = base::ParseJson(engine.config.value_or("{}"));
  if (!config.ok()) return;
  const base::Value* runtimes = config->Find("runtimes");
  const std::string chosen = TextAt(&*config, "default-runtime");
  for (const std::string& name : {std::string("nvidia"), chosen}) {
    const std::string path = TextAt(runtimes == nullptr ? nullptr : runtimes->Find(name), "path");
    if (!path.empty()) AddNamedRuntime(host, name, path, name == chosen, engine);
  }
}

// The runtimes that containerd's files name, each with its program, and the default.
struct NamedRuntimes {
  std::map<std::string, std::string> programs;
  std::string chosen;
};

void CollectRuntimes(const config::Node& table, NamedRuntimes& named) {
  const config::Node* chosen = table.Find("default_runtime_name");
  if (chosen != nullptr && chosen->IsScalar()) named.chosen = chosen->text;
  const config::Node* runtimes = table.Find("runtimes");
  if (runtimes == nullptr) return;
  for (const config::Node::Entry& entry : runtimes->entries) {
    const config::Node* options = entry.value.Find("options");
    const config::Node* path = options == nullptr ? nullptr : options->Find("BinaryName");
    std::string& program = named.programs[entry.key.text];
    if (path != nullptr && path->IsScalar()) program = path->text;
  }
}

// From both files together: the drop-in says the last word.
void ReadContainerdRuntimes(const Host& host, EngineFacts& engine) {
  NamedRuntimes named;
  for (const std::optional<std::string>& text : {engine.config, engine.drop_in}) {
    const base::Result<config::TomlText> toml = config::TomlText::Parse(text.value_or(""), "");
    if (!toml.ok()) return;
    for (const int version : {1, 2, 3}) {
      const config::Node* table = toml->Find(Below(CriOf(version), {"containerd"}));
      if (table != nullptr) CollectRuntimes(*table, named);
    }
  }
  const auto ours = named.programs.find("nvidia"), chosen = named.programs.find(named.chosen);
  // Without a program of its own a runtime has its shim's, which containerd brings along.
  if (ours != named.programs.end() && !ours->second.empty())
    AddNamedRuntime(host, "nvidia", ours->second, named.chosen == "nvidia", engine);
  if (chosen != named.programs.end() && !chosen->second.empty())
    AddNamedRuntime(host, named.chosen, chosen->second, true, engine);
  const bool unknown = chosen == named.programs.end() && !named.chosen.empty();
  if (unknown && named.chosen != "runc") AddNamedRuntime(host, named.chosen, "", true, engine);
}

void ReadEngines(const Host& host, HostFacts& facts) {
  struct Row {
    Engine engine;
    std::string_view program;
  };
  static constexpr std::array<Row, 3> kPrograms = {{{Engine::kDocker, "dockerd"},
                                                    {Engine::kContainerd, "containerd"},
                                                    {Engine::kPodman, "podman"}}};
  for (const Row& row : kPrograms) {
    const std::optional<std::string> program = host.FindProgram(row.program);
    if (!program) continue;
    EngineFacts engine = {row.engine, *program, AskVersion(host, *program)};
    const EngineRow& files = RowOf(row.engine);
    engine.config = host.Read(std::string(files.config));
    if (!files.drop_in.empty()) engine.drop_in = host.Read(std::string(files.drop_in));
    if (row.engine == Engine::kDocker) ReadDockerRuntimes(host, engine);
    if (row.engine == Engine::kContainerd) ReadContainerdRuntimes(host, engine);
    facts.engines.push_back(std::move(engine));
  }
}

// Of the instances that there are, one a file `access` below /proc/driver/nvidia/capabilities: it
// says the node's minor number and its mode. Others (config, monitor) need not have a node.
void ReadCapabilities(const Host& host, const std::string& folder, int deeper, HostFacts& facts) {
  for (const std::string& name : host.List(folder)) {
    const std::string path = base::JoinPath(folder, name);
    if (name != "access") {
      if (deeper > 0) ReadCapabilities(host, path, deeper - 1, facts);
      continue;
    }
    std::optional<std::uint64_t> minor, mode;
    const std::string text = host.Read(path).value_or("");
    for (const std::string_view line : base::SplitLines(text)) {
      if (const auto value = base::WithoutPrefix(line, "DeviceFileMinor:"))
        minor = base::ParseUnsigned(base::Trim(*value));
      if (const auto value = base::WithoutPrefix(line, "DeviceFileMode:"))
        mode = base::ParseUnsigned(base::Trim(*value));
    }
    if (!minor || !mode || *minor > 0xFFFFF || *mode > 0777) continue;
    const std::string node = fmt::format("/dev/nvidia-caps/nvidia-cap{}", *minor);
    if (!host.Look(node))
      facts.missing_capabilities.push_back(
          {node, static_cast<std::uint32_t>(*minor), static_cast<std::uint32_t>(*mode)});
  }
}

void ReadRuntime(const Host& host, HostFacts& facts) {
  facts.has_runtime = host.FindProgram("nvidia-container-runtime").has_value();
  facts.has_docker_hook = host.FindProgram("nvidia-container-runtime-hook").has_value();
  facts.has_systemd = host.Look("/run/systemd/system").has_value();
  facts.unified_cgroups = host.Look("/sys/fs/cgroup/cgroup.controllers").has_value();
  const std::optional<std::string> text = host.Read(kRuntimeConfig);
  if (!text) return;
  const base::Result<config::TomlText> toml = config::TomlText::Parse(*text, kRuntimeConfig);
  const config::Node* mode = toml.ok() ? toml->Find({"nvidia-container-runtime", "mode"}) : nullptr;
  if (mode != nullptr) facts.runtime_mode = mode->text;
}

template <typename T>
T ValueOr(base::Result<T> result, T otherwise) {
  return result.ok() ? *std::move(result) : std::move(otherwise);
}

void ReadDriver(const std::string& root, HostFacts& facts) {
  facts.bus = ValueOr(hw::sysfs::ScanPciGpus(root), {});
  const base::Result<std::string> modules = base::ReadFile(base::JoinPath(root, "/proc/modules"));
  if (modules.ok()) {
    for (const std::string_view line : base::SplitLines(*modules))
      facts.modules.emplace(line.substr(0, line.find(' ')));
  }
  const base::Result<hw::procfs::KernelModule> driver = hw::procfs::ReadKernelModule(root);
  if (driver.ok()) facts.driver = *driver;
  facts.gpus = ValueOr(hw::procfs::ReadGpus(root), {});
  facts.majors = ValueOr(hw::procfs::ReadMajors(root), {});
  facts.nodes = hw::ListDeviceNodes(root);
}

}  // namespace

std::string VersionIn(const std::string& text) {
  for (std::string_view word :
       base::SplitWords(std::string_view(text).substr(0, text.find('\n')))) {
    if (word.starts_with('v')) word.remove_prefix(1);
    const std::size_t end = std::min(word.find_first_not_of("0123456789."), word.size());
    const std::string_view version = word.substr(0, end);
    if (version.find('.') != std::string_view::npos && !version.starts_with('.'))
      return std::string(version);
  }
  return "";
}

HostFacts ReadHost(const HostOptions& options) {
  HostFacts facts;
  ReadDriver(options.host_root, facts);
  ReadLibrary(options, facts);
  if (options.host_root == "/" && facts.driver && facts.library_error.empty())
    AskDriver(options, facts);
  base::Result<base::RootDir> root = base::RootDir::Open(options.host_root);
  if (!root.ok()) return facts;
  const Host host(*std::move(root), options);
  ReadCapabilities(host, "/proc/driver/nvidia/capabilities", 5, facts);
  ReadSpecs(host, options, facts);
  ReadHookFiles(host, options, facts);
  ReadEngines(host, facts);
  ReadRuntime(host, facts);
  return facts;
}

}  // namespace partita::service::toolkit
