// The composition root of `partita agent`: builds everything, starts and stops it in order. The two
// lists at the top of agent.cc are its table of contents.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cdi_publisher.h"
#include "agent/cdi_reach.h"
#include "agent/cluster/cluster.h"
#include "agent/cluster/label_publisher.h"
#include "agent/config/named_configs.h"
#include "agent/config_keeper.h"
#include "agent/control/server.h"
#include "agent/file_watch.h"
#include "agent/health_keeper.h"
#include "agent/kubelet_watch.h"
#include "agent/ledger_keeper.h"
#include "agent/mig_service.h"
#include "agent/mps/mps_service.h"
#include "agent/node.h"
#include "agent/notify.h"
#include "agent/place.h"
#include "agent/plugin_service.h"
#include "agent/readiness.h"
#include "agent/replace.h"
#include "agent/steps.h"
#include "agent/stuck_watch.h"
#include "base/log.h"
#include "base/result.h"
#include "config/agent_config.h"
#include "config/plugin_config.h"
#include "config/xid_overrides.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace partita::agent {

// The device plugin as the name nvidia-device-plugin is told to run it: from flags, variables and a
// v1 document instead of the agent's own file.
struct PluginStart {
  config::PluginConfig config;
  std::string kubelet_socket;  // empty: register nowhere
  // For reading it again: the file, and what is laid over it. Empty: there is no file.
  std::string config_file;
  std::vector<config::PluginOverride> overrides;
  service::cdi::Features cdi_features{};
};

struct AgentOptions {
  config::AgentConfigSource config;  // its overrides are right: DefaultAgentConfig takes them
  std::string run_directory;         // agent.lock, agent.sock
  std::string state_directory;       // last-good/, the ledger
  std::string cdi_directory{};       // of CDI files; empty: none are written
  // Of device plugins' sockets; empty: kubelet's.
  std::string device_plugin_directory{};
  std::string version;
  config::XidOverrides xids{};                 // of two variables, under every name
  std::optional<PluginStart> device_plugin{};  // absent: what the configuration says
  ConnectCluster connect{};                    // empty: to the API server, where there is one
  // Threads of this process that nobody can end.
  std::function<std::vector<std::string>()> unkillable = [] { return UnkillableThreads(); };
  base::LogFormat text_format = base::LogFormat::kText;  // what log.format "text" means here
};

// What a part of the agent does with another configuration: everything that can fail happens in
// `prepare`, which changes nothing; what it returns carries it out. All parts prepare before any
// is carried out.
struct ReloadPart {
  std::string name;
  std::function<base::Result<net::Task>(const config::AgentConfig& next)> prepare;
};

// Loop's thread only. Loop and log outlive it.
class Agent {
 public:
  Agent(net::Loop& loop, base::Log& log, Notifier notifier, AgentOptions options);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();

  // `ended` is called once: after SIGTERM, SIGINT or Stop, or with the error of the step that
  // failed, when all that was begun is stopped.
  void Start(std::function<void(base::Result<void>)> ended);
  void Stop() { steps_.Stop(); }
  // After its end: it stopped in order to be started anew in this process.
  [[nodiscard]] bool wants_replacing() const { return wants_replacing_; }

  // Reads the configuration again; the keys whose values changed. An error leaves everything as it
  // is. kBusy: it is starting or stopping.
  enum class Telling : bool { kNews, kAlways };  // of what is wrong, in the log
  [[nodiscard]] base::Result<std::vector<std::string>> Reload(Telling telling = Telling::kAlways);

  [[nodiscard]] bool running() const { return running_; }
  // Some thread has not come back from the files of CDI.
  [[nodiscard]] bool writes_cdi() const { return cdi_.running(); }
  // While it runs.
  [[nodiscard]] Node& node() { return node_; }
  [[nodiscard]] LedgerKeeper& ledger() { return ledger_; }
  [[nodiscard]] HealthKeeper& health() { return health_; }
  [[nodiscard]] Cluster& cluster() { return cluster_; }
  [[nodiscard]] const config::AgentConfig& config() const { return config_.config; }
  [[nodiscard]] Readiness& readiness() { return readiness_; }
  // Of the control socket's method "agent.state".
  [[nodiscard]] base::Value State() const;
  // Of "config.named", for `partita config show --origin`.
  [[nodiscard]] base::Value NamedReport() const;

 private:
  std::vector<StartStep> StartSteps();
  std::vector<StopStep> StopSteps();
  std::vector<ReloadPart> ReloadParts();

  void CatchSignals();
  void TakeLock(const Done& done);
  // Whoever cleans /run may take away what tells others that an agent runs here.
  void CheckPlace();
  void ReadConfig();
  void TellConfig();
  [[nodiscard]] std::string ConfigInForce() const;
  void TellConfigToCluster();
  void WatchConfig();
  void FollowOverlay();
  void SelectOverlay(const base::Value& node);
  void StartCluster();
  void Connected();
  void TellCluster();
  base::Result<void> OpenControlSocket();
  base::Result<void> OpenHttp();
  void LookAtNode(const Done& done);
  void TellDriver(const model::Inventory& inventory);
  [[nodiscard]] service::health::XidOptions XidsOf(const config::AgentConfig& config) const;
  void StartHealth();
  [[nodiscard]] CdiOptions CdiOptionsOf(const config::AgentConfig& config) const;
  void StartCdi(const Done& done);
  void TellCdi();
  // The calls that keep a session open which must close; empty: none.
  [[nodiscard]] std::string StuckCalls();
  void SessionStuck(const std::string& calls);
  void SessionFree();
  void TellLedger();
  [[nodiscard]] service::device_plugin::KubeletPlace KubeletPlace() const;
  void StartKubelet();
  void LookAtEngine(const config::AgentConfig& config);
  // What the device plugin is to be told, and what of it was passed over.
  struct PluginWish {
    std::optional<config::PluginConfig> config;  // absent: nothing is good
    std::optional<NamedConfig> named;            // that it is
    std::optional<base::Error> rejected;         // what is in force was good before
  };
  [[nodiscard]] base::Result<config::PluginConfig> ReadPlugin(
      const config::AgentConfig& config) const;
  [[nodiscard]] bool ChoosesPlugin(const config::AgentConfig& config) const;
  [[nodiscard]] base::Result<PluginWish> WishedPlugin(const config::AgentConfig& config) const;
  [[nodiscard]] std::optional<config::PluginConfig> LastGoodPlugin() const;
  void ReadPluginAtStart();
  void TakePlugin(const PluginWish& wish);
  void KeepPlugin();
  void ChooseAgain();
  [[nodiscard]] base::Value NamedState() const;
  void AddPluginTo(CdiOptions& options) const;
  [[nodiscard]] PluginOptions PluginOptionsOf(const config::AgentConfig& config) const;
  [[nodiscard]] mps::MpsOptions MpsOptionsOf(const config::AgentConfig& config) const;
  [[nodiscard]] service::mps::Holders MpsHolders() const;
  void TellMps(const service::inventory::SnapshotPtr& snapshot);
  [[nodiscard]] static base::Result<std::shared_ptr<mps::Runner>> MakeMpsRunner(
      const mps::MpsOptions& options);
  [[nodiscard]] std::string RunnerSocket() const;
  void WatchRunner(const config::AgentConfig& config);
  void StartPlugin(const config::AgentConfig& config);
  void StopPlugin();
  void TellPlugin();
  void StartLabels(const config::AgentConfig& config);
  void SetLabels(const config::AgentConfig& config);
  void TellLabelBackend(const config::AgentConfig& config);
  void StopLabels();
  [[nodiscard]] LabelOptions LabelOptionsOf(const config::AgentConfig& config) const;
  void TellLabels();
  void LabelsReady();
  void TellLabelsTo(control::Call& call) const;
  void WatchPlugin();
  void TellReady();
  void TellStatus();

  base::Result<net::Task> PrepareLog(const config::AgentConfig& next);
  base::Result<net::Task> PrepareHttp(const config::AgentConfig& next);
  base::Result<net::Task> PrepareNode(const config::AgentConfig& next);
  base::Result<net::Task> PrepareHealth(const config::AgentConfig& next);
  base::Result<net::Task> PreparePlugin(const config::AgentConfig& next);
  base::Result<net::Task> PrepareLabels(const config::AgentConfig& next);
  void OnSignal(int signal);
  base::Result<std::vector<std::string>> ReloadNow();
  [[nodiscard]] std::string ReloadedFile() const;

  net::Loop& loop_;
  base::Log& log_;
  Notifier notifier_;
  AgentOptions options_;
  ConfigKeeper keeper_;
  ConfigKeeper::Start config_;
  FileWatch config_watch_, overlay_watch_;
  std::optional<config::PluginConfig> plugin_config_;  // absent: not served
  FileWatch plugin_watch_;                             // of its file
  FileWatch runner_watch_;                             // of the MPS runner's socket
  std::optional<ino_t> runner_inode_;                  // while it is watched; 0: none is there
  std::optional<base::Error> plugin_rejected_;  // the one that was chosen; the one before holds
  std::string told_config_;                     // to the cluster
  std::string told_backend_;                    // of labels: what is passed over
  Readiness readiness_;
  bool running_ = false;  // started, and not stopping

  std::unique_ptr<net::SignalWatch> signals_;
  Place place_;
  Cluster cluster_;
  std::shared_ptr<void> overlay_node_;  // whose label selects the overlay; before the cluster
  NamedConfigs named_;
  std::unique_ptr<net::Timer> lock_timer_;
  std::string lock_holder_;  // who is waited for
  control::Server control_;
  net::HttpServer http_;
  KubeletWatch kubelet_;
  CdiReach reach_;
  std::vector<std::string> engine_sockets_;  // that it asks
  LedgerKeeper ledger_;
  Node node_;
  HealthKeeper health_;  // before the node
  StuckWatch stuck_;
  bool told_stuck_ = false, wants_replacing_ = false;
  std::string unkillable_, no_driver_;  // told
  MigService mig_;                      // before the node and the ledger that it works with
  CdiPublisher cdi_;                    // before the node
  mps::MpsService mps_;                 // before the node
  PluginService plugin_;
  std::shared_ptr<void> plugin_node_, plugin_health_;  // what it hears
  LabelPublisher labels_;                              // before the cluster
  std::shared_ptr<void> labels_node_;
  std::unique_ptr<net::Timer> watchdog_;
  Steps steps_;
};

// As the configuration says; `text_format` is what its "text" means here.
void SetLog(base::Log& log, const config::AgentConfig& config, base::LogFormat text_format);

// The program: makes loop and log, runs to the end. What went wrong has been logged.
[[nodiscard]] base::Result<void> RunAgent(AgentOptions options);

}  // namespace partita::agent
