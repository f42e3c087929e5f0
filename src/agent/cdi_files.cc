#include "agent/cdi_files.h"

#include <sys/stat.h>

#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/sha256.h"
#include "cdi/node_devices.h"
#include "cdi/text.h"
#include "cdi/version.h"
#include "service/cdi/generate.h"
#include "service/cdi/jit.h"
#include "service/cdi/node_files.h"
#include "service/cdi/spec_file.h"

namespace partita::agent {

namespace {

using base::Result;
using service::cdi::Generated;
using service::cdi::GenerateOptions;
using service::cdi::HookSet;
using service::cdi::NodeFiles;
using service::cdi::NodeFilesOptions;

constexpr const char* kGpuFile = "nvidia.yaml";
constexpr const char* kPluginVendor = "k8s.device-plugin.nvidia.com";
constexpr const char* kManagementFile = "management.nvidia.com-gpu.yaml";
constexpr const char* kDevicesFile = "devices.json";
// By which the management file is known as ours: other tools write one of that name too. Digests, a
// line each, of what was written last and before that: a crash may come in between.
constexpr const char* kManagementDigests = "management.sha256";
// The newest that the engines in use read without a switch.
constexpr partita::cdi::Version kNewest{0, 7, 0};

HookSet HooksOf(const CdiOptions& options, HookSet hooks = {}) {
  if (!options.hook_path.empty()) hooks.path = options.hook_path;
  const std::string_view name = service::cdi::NameOf(hooks.path);
  // Ours knows its part by the reference's name.
  if (name != "partita-hook") hooks.first_argument = name;
  return hooks;
}

Result<NodeFiles> ReadFiles(const CdiOptions& options, const model::Inventory& inventory) {
  NodeFilesOptions from;
  from.host_root = options.host_root;
  from.driver_root = options.driver_root;
  from.dev_root = options.dev_root;
  from.files.mps_directory = false;
  GenerateOptions unused;
  options.features.ApplyTo(unused, from);
  return service::cdi::ReadNodeFiles(from, inventory);
}

// What goes wrong in one file keeps no other from being written.
class Publisher {
 public:
  Publisher(const CdiOptions& options, const model::Inventory& inventory)
      : options_(options), inventory_(inventory) {
    outcome_.generation = inventory.generation;
  }

  CdiOutcome Run() && {
    Note(WriteAll());
    // Also where no driver answers: what is no longer granted is taken back.
    if (!options_.management) Note(TakeBackManagement());
    outcome_.left = LookAtCdi(options_);
    // Somebody may have been quicker than the look: then nothing that is there is as we left it.
    for (const auto& [path, bytes] : ours_) {
      const Result<std::string> now = base::ReadRegularFile(path);
      if (!now.ok() || *now != bytes) outcome_.left.clear();
    }
    return std::move(outcome_);
  }

 private:
  void Note(Result<void> end) {
    if (!end.ok() && !outcome_.problem) outcome_.problem = std::move(end).error();
  }

  Result<void> WriteAll() {
    if (!inventory_.driver) return base::Error(base::ErrorCode::kNoDriver, "no driver answers");
    TRY(files, ReadFiles(options_, inventory_));
    outcome_.news = files.driver.warnings;
    Note(WriteGpus(files));
    if (options_.plugin_naming) Note(WritePlugin(files));
    if (options_.management) Note(WriteManagement(files));
    Note(WriteDevices(files));
    return {};
  }

  [[nodiscard]] Result<GenerateOptions> Common() const {
    GenerateOptions options;
    options.best_effort = true;
    NodeFilesOptions unused;
    options_.features.ApplyTo(options, unused);
    options.hooks = HooksOf(options_, std::move(options.hooks));
    options.version_max = kNewest;
    if (!options_.version_max.empty()) {
      TRY(most, partita::cdi::ParseVersion(options_.version_max), "cdi.versionMax");
      options.version_max = most;
    }
    return options;
  }

  Result<void> WriteGpus(const NodeFiles& files) {
    TRY(options, Common());
    TRY(made, Generate(inventory_, files.driver, files.devices, files.places, options));
    outcome_.devices = made.spec.devices.size();
    for (const base::Error& error : made.left_out) outcome_.news.push_back(error.ToString());
    outcome_.news.insert(outcome_.news.end(), made.warnings.begin(), made.warnings.end());
    return Write(kGpuFile, made.spec);
  }

  // What is left out is told with nvidia.yaml.
  Result<void> WritePlugin(const NodeFiles& files) {
    TRY(options, Common());
    options.vendor = kPluginVendor;
    options.namings = {*options_.plugin_naming};
    options.all_device = false;
    TRY(made, Generate(inventory_, files.driver, files.devices, files.places, options));
    TRY_VOID(Write(PluginFile("gpu"), made.spec));
    for (const service::cdi::Mode mode : options_.plugin_modes) TRY_VOID(WriteMode(files, mode));
    return {};
  }

  // What this machine does not have is told, and containers go without.
  Result<void> WriteMode(const NodeFiles& files, service::cdi::Mode mode) {
    TRY(options, Common());
    options.mode = mode;
    options.vendor = kPluginVendor;
    options.klass = ClassOf(mode);
    Result<Generated> made =
        Generate(inventory_, files.driver, files.devices, files.places, options);
    if (!made.ok()) {
      outcome_.news.push_back(fmt::format("{}: {}", options.klass, made.error().ToString()));
      return {};
    }
    TRY_VOID(Write(PluginFile(options.klass), made->spec));
    outcome_.plugin_classes.push_back(options.klass);
    return {};
  }

  static std::string PluginFile(std::string_view klass) {
    return fmt::format("{}-{}.json", kPluginVendor, klass);
  }

  Result<void> WriteManagement(const NodeFiles& files) {
    TRY(options, Common());
    options.mode = service::cdi::Mode::kManagement;
    options.vendor = "management.nvidia.com";
    TRY(made, Generate(inventory_, files.driver, files.devices, files.places, options));
    TRY_VOID(KeepDigest(made.spec));
    return Write(kManagementFile, made.spec);
  }

  [[nodiscard]] std::string DigestsPath() const {
    return base::JoinPath(options_.run_directory, kManagementDigests);
  }

  // Before the file is written: what is not known as ours is never removed.
  Result<void> KeepDigest(const partita::cdi::Spec& spec) {
    std::string digests = base::Sha256Hex(partita::cdi::ToYaml(spec)) + "\n";
    const Result<std::string> before = base::ReadRegularFile(DigestsPath());
    if (before.ok() && before->starts_with(digests)) return {};
    if (before.ok()) digests += before->substr(0, before->find('\n') + 1);
    return base::ReplaceRegularFile(DigestsPath(), digests, 0644);
  }

  Result<void> TakeBackManagement() {
    const Result<std::string> digests = base::ReadRegularFile(DigestsPath());
    if (!digests.ok()) return {};
    const std::string path = base::JoinPath(options_.directory, kManagementFile);
    const Result<std::string> now = base::ReadRegularFile(path);
    if (now.ok() && digests->find(base::Sha256Hex(*now)) != std::string::npos) {
      TRY_VOID(base::RemoveTree(path));
      outcome_.written = true;
    } else if (now.ok()) {
      outcome_.news.push_back(path + " is not what was written here last: it stays");
    }
    return base::RemoveTree(DigestsPath());
  }

  Result<void> Write(const std::string& name, const partita::cdi::Spec& spec) {
    const std::string path = base::JoinPath(options_.directory, name);
    TRY(written, service::cdi::WriteSpecFile(path, spec));
    ours_.emplace_back(
        path, path.ends_with(".json") ? partita::cdi::ToJson(spec) : partita::cdi::ToYaml(spec));
    outcome_.written = outcome_.written || written == service::cdi::Written::kNew;
    return {};
  }

  // Ordinary users may read it: rootless engines run the same hooks.
  Result<void> WriteDevices(const NodeFiles& files) {
    const partita::cdi::NodeDevices node =
        service::cdi::MakeNodeDevices(inventory_, files, HooksOf(options_));
    const std::string bytes = base::ToJson(partita::cdi::ToValue(node));
    const std::string path = base::JoinPath(options_.run_directory, kDevicesFile);
    ours_.emplace_back(path, bytes);
    const Result<std::string> now = base::ReadRegularFile(path);
    if (now.ok() && *now == bytes) return {};
    TRY_VOID(base::ReplaceRegularFile(path, bytes, 0644));
    outcome_.written = true;
    return {};
  }

  const CdiOptions& options_;
  const model::Inventory& inventory_;
  CdiOutcome outcome_;
  std::vector<std::pair<std::string, std::string>> ours_;  // path and bytes
};

}  // namespace

CdiOutcome PublishCdi(const CdiOptions& options, const model::Inventory& inventory) {
  return Publisher(options, inventory).Run();
}

std::string LookAtCdi(const CdiOptions& options) {
  std::string text;
  const auto add = [&](const std::string& path) {
    struct stat about {};
    if (stat(path.c_str(), &about) != 0) return;
    text +=
        fmt::format("{} {}:{} {:o} {} {} {}.{}\n", path, about.st_dev, about.st_ino, about.st_mode,
                    about.st_uid, about.st_size, about.st_ctim.tv_sec, about.st_ctim.tv_nsec);
  };
  const Result<std::vector<std::string>> names = base::ListDirectory(options.directory);
  if (names.ok()) {
    for (const std::string& name : *names) {
      if (service::cdi::IsSpecName(name)) add(base::JoinPath(options.directory, name));
    }
  }
  add(base::JoinPath(options.run_directory, kDevicesFile));
  return text;
}

}  // namespace partita::agent
