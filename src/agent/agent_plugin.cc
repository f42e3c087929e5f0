// The device plugin within the agent: what it is told, and when.

#include "agent/agent.h"

#include <sys/stat.h>

#include <optional>
#include <set>

#include "agent/boot_id.h"
#include "agent/mps/child_runner.h"
#include "agent/mps/control_program.h"
#include "agent/mps/pod/pod_runner.h"
#include "agent/mps/systemd_runner.h"
#include "base/files.h"
#include "base/json.h"
#include "config/document.h"
#include "model/unread.h"
#include "service/cdi/node_files.h"
#include "service/device_plugin/mps_sharing.h"

namespace partita::agent {
namespace {

using base::LogKey;

// Fixed in kubelet, whatever its own directory is. Not below the host's root: that may be mounted
// read-only, and sockets are made here.
constexpr const char* kDevicePlugins = "/var/lib/kubelet/device-plugins";

std::vector<service::cdi::Mode> ModesOf(const config::PluginConfig& config) {
  using service::cdi::Mode;
  std::vector<Mode> modes;
  if (config.gdrcopy) modes.push_back(Mode::kGdrcopy);
  if (config.gds) modes.push_back(Mode::kGds);
  if (config.mofed) modes.push_back(Mode::kMofed);
  if (!config.imex_channels.empty()) modes.push_back(Mode::kImex);
  return modes;
}

// What engines start is on the host, whose files a container does not have at the same places.
std::string HookPath(const config::AgentConfig& config) {
  const std::string& directory = config.toolkit_install_dir.value;
  return directory.empty() ? service::cdi::InstalledHook()
                           : base::JoinPath(directory, "toolkit/nvidia-cdi-hook");
}

// By UUID; nothing: a GPU may have others.
std::optional<std::set<std::string>> MigDevicesOf(const service::inventory::Snapshot& snapshot) {
  const model::Inventory& inventory = snapshot.inventory;
  if (!inventory.driver || !snapshot.stale.empty()) return std::nullopt;
  std::set<std::string> uuids;
  for (const model::Gpu& gpu : inventory.gpus) {
    if (model::WhyMigUnknown(gpu)) return std::nullopt;
    if (!gpu.mig) continue;
    for (const model::GpuInstance& instance : gpu.mig->instances)
      for (const model::ComputeInstance& compute : instance.compute_instances)
        uuids.insert(compute.uuid.value());
  }
  return uuids;
}

}  // namespace

service::device_plugin::KubeletPlace Agent::KubeletPlace() const {
  service::device_plugin::KubeletPlace place;
  place.directory =
      options_.device_plugin_directory.empty() ? kDevicePlugins : options_.device_plugin_directory;
  place.socket = options_.device_plugin ? options_.device_plugin->kubelet_socket
                                        : base::JoinPath(place.directory, "kubelet.sock");
  return place;
}

void Agent::StartKubelet() {
  kubelet_.Start(KubeletPlace().socket);
  LookAtEngine(config_.config);
}

// Under the reference's name everything is as it is told.
void Agent::LookAtEngine(const config::AgentConfig& config) {
  if (options_.device_plugin) return;
  std::vector<std::string> sockets = {config.cri_socket.value};
  if (sockets.front().empty()) sockets = UsualEngineSockets(config.host_root.value);
  if (sockets == engine_sockets_) return;
  engine_sockets_ = sockets;
  reach_.Stop();
  reach_.Start(std::move(sockets));
}

// What it has of it in the files of CDI.
void Agent::AddPluginTo(CdiOptions& options) const {
  if (options_.device_plugin) options.features = options_.device_plugin->cdi_features;
  if (!plugin_config_ || !plugin_config_->UsesCdi()) return;
  options.plugin_naming = plugin_config_->id_strategy == config::IdStrategy::kIndex
                              ? service::cdi::Naming::kIndex
                              : service::cdi::Naming::kUuid;
  options.plugin_modes = ModesOf(*plugin_config_);
  if (!plugin_config_->cdi_hook_path.empty()) options.hook_path = plugin_config_->cdi_hook_path;
}

CdiOptions Agent::CdiOptionsOf(const config::AgentConfig& config) const {
  CdiOptions options{.host_root = config.host_root.value,
                     .driver_root = config.driver_root.value,
                     .dev_root = config.dev_root.value,
                     .directory = options_.cdi_directory,
                     .run_directory = options_.run_directory,
                     .hook_path = HookPath(config),
                     .version_max = config.cdi_version_max.value,
                     .management = config.cdi_management.value == "true"};
  AddPluginTo(options);
  return options;
}

PluginOptions Agent::PluginOptionsOf(const config::AgentConfig& config) const {
  PluginOptions options;
  options.config = *plugin_config_;
  options.rules = config.offer_rules;
  options.offered_by_default = config.offer_default.value != "none";
  options.kubelet = KubeletPlace();
  options.dev_root =
      config.dev_root.value.empty() ? config.driver_root.value : config.dev_root.value;
  options.node_name = NodeName(config.node_name.value);
  options.pod_resources = base::JoinPath(config.kubelet_root.value, "pod-resources/kubelet.sock");
  return options;
}

mps::MpsOptions Agent::MpsOptionsOf(const config::AgentConfig& config) const {
  const base::Result<std::string> boot_id = ReadBootId();
  const base::Result<mps::RunnerKind> runner = mps::ChooseRunner(
      config.mps_runner.value, config.host_root.value != "/", mps::UnderSystemd());
  // Under the reference's name its own flag says where.
  const bool flagged =
      options_.device_plugin && plugin_config_ && !plugin_config_->mps_root.empty();
  return {.runner = runner.ok() ? *runner : mps::RunnerKind::kChild,
          .runner_socket = RunnerSocket(),
          .driver_root = config.driver_root.value,
          .root = flagged ? plugin_config_->mps_root : config.mps_root.value,
          .modes_file = base::JoinPath(options_.state_directory, "mps-modes"),
          .boot_id = boot_id.ok() ? *boot_id : "",
          .policy = config.mps_compute_mode.value == "unchanged"
                        ? service::mps::ComputeModePolicy::kUnchanged
                        : service::mps::ComputeModePolicy::kExclusive,
          .refused = runner.ok() ? "" : runner.error().ToString()};
}

service::mps::Holders Agent::MpsHolders() const {
  service::mps::Holders holders;
  if (ledger_.state() != nullptr) holders = service::device_plugin::HoldersForMps(*ledger_.state());
  holders.complete = ledger_.knows_holders();
  return holders;
}

base::Result<std::shared_ptr<mps::Runner>> Agent::MakeMpsRunner(const mps::MpsOptions& options) {
  std::shared_ptr<mps::Runner> runner;
  if (options.runner == mps::RunnerKind::kPod) {
    // It finds the program itself, where its daemons are to find their libraries.
    runner = std::make_shared<mps::pod::PodRunner>(options.runner_socket);
    return runner;
  }
  TRY(program, mps::FindControlProgram(options.driver_root));
  if (options.runner == mps::RunnerKind::kSystemd) {
    runner = std::make_shared<mps::SystemdRunner>(std::move(program));
  } else {
    runner = std::make_shared<mps::ChildRunner>(std::move(program));
  }
  return runner;
}

std::string Agent::RunnerSocket() const {
  return base::JoinPath(options_.run_directory, "mps.sock");
}

// One that comes is used at once, whatever pause a failure has got to.
void Agent::WatchRunner(const config::AgentConfig& config) {
  const bool wanted = config.mps_runner.value == "pod";
  if (wanted == runner_inode_.has_value()) return;
  runner_watch_.Stop();
  runner_inode_.reset();
  if (!wanted) return;
  const auto inode = [this] {
    struct stat about {};
    return stat(RunnerSocket().c_str(), &about) == 0 ? about.st_ino : 0;
  };
  runner_inode_ = inode();
  const base::Result<void> watched = runner_watch_.Start(RunnerSocket(), [this, inode] {
    const ino_t now = inode();
    const bool came = now != 0 && now != runner_inode_;
    runner_inode_ = now;
    if (came) mps_.TryAgain();
  });
  if (!watched.ok())
    log_.Warn("an MPS runner that comes is found by trying only",
              base::ErrorFields(watched.error()));
}

void Agent::TellMps(const service::inventory::SnapshotPtr& snapshot) {
  mps_.SetSession(snapshot->session);
  mps_.HaveMigDevices(MigDevicesOf(*snapshot));
  mps_.SetInventory({snapshot, &snapshot->inventory});
}

// By what is handed over: a reload puts the rest of it into force later.
void Agent::StartPlugin(const config::AgentConfig& config) {
  WatchRunner(config);
  if (mps_.running())
    mps_.SetOptions(MpsOptionsOf(config));
  else
    mps_.Start(MpsOptionsOf(config), node_.shared_driver());
  if (!plugin_config_) {
    // Daemons of an earlier agent, whose devices nobody offers any more.
    if (config_.serving && config.plugin_enabled.value == "false") mps_.Want({}, true);
    return;
  }
  plugin_.OnDomains([this](const std::vector<service::mps::Domain>& domains, bool complete) {
    mps_.Want(domains, complete);
  });
  cdi_.OnProgress([this] { plugin_.SetFiles(cdi_.current(), cdi_.plugin_classes()); });
  plugin_.SetFiles(cdi_.current(), cdi_.plugin_classes());
  if (!options_.device_plugin) plugin_.SetReach(reach_.looked(), reach_.disabled());
  plugin_.SetNode(node_.live().current());
  plugin_node_ = node_.live().Subscribe(
      [this](const service::inventory::SnapshotPtr& snapshot, const service::inventory::Changes&) {
        plugin_.SetNode(snapshot);
        TellMps(snapshot);
      });
  TellMps(node_.live().current());
  plugin_.SetHealth(health_.current());
  plugin_health_ = health_.Subscribe(
      [this](const HealthKeeper::NodeHealthPtr& health) { plugin_.SetHealth(health); });
  ledger_.OfferedBy([this] { return plugin_.running(); });
  ledger_.HoldersOwed([this] { return plugin_.awaits_pods(); });
  plugin_.Start(PluginOptionsOf(config));
  TellPlugin();
}

void Agent::StopPlugin() {
  plugin_node_.reset();
  plugin_health_.reset();
  cdi_.OnProgress(nullptr);
  plugin_.OnDomains(nullptr);
  plugin_.Stop();
}

// That there is no kubelet is no fault of ours.
void Agent::TellPlugin() {
  if (!plugin_.running()) return;
  LabelsReady();
  if (plugin_.disabled().empty())
    readiness_.SetGood("device plugin", plugin_.problem());
  else
    readiness_.SetBad("device plugin", plugin_.disabled());
}

// With the files of CDI, which its answers name.
base::Result<net::Task> Agent::PreparePlugin(const config::AgentConfig& next) {
  PluginWish wish;
  if (next.plugin_enabled.value == "true") {
    TRY(wished, WishedPlugin(next));
    wish = std::move(wished);
  }
  return net::Task([this, next, wish] {
    TakePlugin(wish);
    LookAtEngine(next);
    cdi_.SetOptions(CdiOptionsOf(next));
    if (!plugin_config_) {
      if (plugin_.running()) StopPlugin();
      if (next.plugin_enabled.value == "false") mps_.Want({}, true);
    } else if (plugin_.running()) {
      WatchRunner(next);
      mps_.SetOptions(MpsOptionsOf(next));
      plugin_.SetOptions(PluginOptionsOf(next));
    } else {
      StartPlugin(next);
    }
  });
}

void Agent::WatchPlugin() {
  const std::string& path = options_.device_plugin ? options_.device_plugin->config_file
                                                   : config_.config.plugin_config_file.value;
  plugin_watch_.Stop();
  if (ChoosesPlugin(config_.config))
    named_.Follow(config_.config);
  else
    named_.Stop();
  if (path.empty()) return;
  const base::Result<void> watched = plugin_watch_.Start(path, [this] {
    if (running_) (void)Reload(Telling::kNews);  // it has logged what was wrong
  });
  if (!watched.ok())
    log_.Warn("the device plugin's configuration is not watched: tell the agent when it changed",
              base::ErrorFields(watched.error()));
}

}  // namespace partita::agent
