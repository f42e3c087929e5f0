// The composition root of `partita agent`: builds everything, starts and stops it in order. The two
// lists at the top of agent.cc are its table of contents.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cdi_publisher.h"
#include "agent/config_keeper.h"
#include "agent/control/server.h"
#include "agent/file_watch.h"
#include "agent/kubelet_watch.h"
#include "agent/ledger_keeper.h"
#include "agent/mig_service.h"
#include "agent/node.h"
#include "agent/notify.h"
#include "agent/place.h"
#include "agent/readiness.h"
#include "agent/replace.h"
#include "agent/steps.h"
#include "agent/stuck_watch.h"
#include "base/log.h"
#include "base/result.h"
#include "config/agent_config.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace partita::agent {

struct AgentOptions {
  config::AgentConfigSource config;  // its overrides are right: DefaultAgentConfig takes them
  std::string run_directory;         // agent.lock, agent.sock
  std::string state_directory;       // last-good/, the ledger
  std::string cdi_directory{};       // of CDI files; empty: none are written
  std::string version;
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
  [[nodiscard]] base::Result<std::vector<std::string>> Reload();

  [[nodiscard]] bool running() const { return running_; }
  // Some thread has not come back from the files of CDI.
  [[nodiscard]] bool writes_cdi() const { return cdi_.running(); }
  // While it runs.
  [[nodiscard]] Node& node() { return node_; }
  [[nodiscard]] LedgerKeeper& ledger() { return ledger_; }
  [[nodiscard]] const config::AgentConfig& config() const { return config_.config; }
  [[nodiscard]] Readiness& readiness() { return readiness_; }
  // Of the control socket's method "agent.state".
  [[nodiscard]] base::Value State() const;

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
  void WatchConfig();
  base::Result<void> OpenControlSocket();
  base::Result<void> OpenHttp();
  void LookAtNode(const Done& done);
  [[nodiscard]] CdiOptions CdiOptionsOf(const config::AgentConfig& config) const;
  void StartCdi(const Done& done);
  void TellCdi();
  // The calls that keep a session open which must close; empty: none.
  [[nodiscard]] std::string StuckCalls();
  void SessionStuck(const std::string& calls);
  void SessionFree();
  void TellLedger();
  void TellReady();
  void TellStatus();

  base::Result<net::Task> PrepareLog(const config::AgentConfig& next);
  base::Result<net::Task> PrepareHttp(const config::AgentConfig& next);
  base::Result<net::Task> PrepareNode(const config::AgentConfig& next);
  base::Result<net::Task> PrepareCdi(const config::AgentConfig& next);
  void OnSignal(int signal);
  base::Result<std::vector<std::string>> ReloadNow();

  net::Loop& loop_;
  base::Log& log_;
  Notifier notifier_;
  AgentOptions options_;
  ConfigKeeper keeper_;
  ConfigKeeper::Start config_;
  FileWatch config_watch_;
  Readiness readiness_;
  bool running_ = false;  // started, and not stopping

  std::unique_ptr<net::SignalWatch> signals_;
  Place place_;
  std::unique_ptr<net::Timer> lock_timer_;
  std::string lock_holder_;  // who is waited for
  control::Server control_;
  net::HttpServer http_;
  KubeletWatch kubelet_;
  LedgerKeeper ledger_;
  Node node_;
  StuckWatch stuck_;
  bool told_stuck_ = false, wants_replacing_ = false;
  std::string unkillable_;  // told
  MigService mig_;          // before the node and the ledger that it works with
  CdiPublisher cdi_;        // before the node
  std::unique_ptr<net::Timer> watchdog_;
  Steps steps_;
};

// As the configuration says; `text_format` is what its "text" means here.
void SetLog(base::Log& log, const config::AgentConfig& config, base::LogFormat text_format);

// The program: makes loop and log, runs to the end. What went wrong has been logged.
[[nodiscard]] base::Result<void> RunAgent(AgentOptions options);

}  // namespace partita::agent
