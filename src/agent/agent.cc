#include "agent/agent.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/listen_address.h"
#include "model/inventory_wire.h"
#include "model/unread.h"
#include "service/inventory/node_facts.h"

namespace partita::agent {
namespace {

using base::LogKey;
using base::Value;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// To whoever finds its place taken.
constexpr const char* kName = "partita agent";

// How soon a waiting agent sees that the other one is gone.
constexpr milliseconds kBetweenLockTries{250};

// A step that is done when it returns: nothing, or a Result.
template <typename Run>
std::function<void(Done)> AtOnce(Run run) {
  return [run = std::move(run)](const Done& done) {
    if constexpr (std::is_void_v<decltype(run())>) {
      run();
      done({});
    } else {
      done(run());
    }
  };
}

// What `partita status` draws: everything, since when a GPU has not answered, what MPS shares.
Value StatusReply(const service::inventory::Snapshot& snapshot,
                  base::Clock::Steady now,
                  const std::vector<model::MpsDomain>& mps) {
  Value stale = Value::Map();
  for (const auto& [gpu, silent] : snapshot.stale) {
    Value entry = Value::Map().Set("why", silent.why);
    // Absent: it has not answered in this life.
    if (silent.since)
      entry.Set("seconds", std::chrono::duration_cast<seconds>(now - *silent.since).count());
    stale.Set(gpu.ToString(), std::move(entry));
  }
  return Value::Map()
      .Set("inventory", model::ToWire(snapshot.inventory))
      .Set("stale", std::move(stale))
      .Set("mps", ToValue(mps));
}

}  // namespace

std::vector<StartStep> Agent::StartSteps() {
  return {
      {"signals", seconds(1), AtOnce([this] { CatchSignals(); })},
      // Another agent may be at the end of its life, or of its pod's: it is waited for.
      {"lock", std::nullopt, [this](const Done& done) { TakeLock(done); }},
      {"config", seconds(5), AtOnce([this] {
         ReadConfig();
         WatchConfig();
       })},
      {"cluster", seconds(1), AtOnce([this] {
         StartCluster();
         FollowOverlay();
       })},
      {"plugin config", seconds(5), AtOnce([this] {
         ReadPluginAtStart();
         WatchPlugin();
         TellConfig();
       })},
      {"ledger", seconds(5), AtOnce([this] { ledger_.Open(options_.state_directory); })},
      // A driver that sleeps takes seconds to wake its GPUs.
      {"inventory", seconds(60), [this](const Done& done) { LookAtNode(done); }},
      {"health", seconds(5), AtOnce([this] { StartHealth(); })},
      {"kubelet", seconds(1), AtOnce([this] { StartKubelet(); })},
      // Where the layout is brought back, that takes as long as it takes.
      {"mig", std::nullopt,
       [this](const Done& done) {
         mig_.Start(config_.config, options_.state_directory, [done] { done({}); });
       }},
      {"cdi", seconds(10), [this](const Done& done) { StartCdi(done); }},
      {"device plugin", seconds(1), AtOnce([this] { StartPlugin(config_.config); })},
      {"labels", seconds(1), AtOnce([this] {
         // By its defaults nothing is told to anybody.
         if (config_.serving) StartLabels(config_.config);
       })},
      {"control socket", seconds(1), AtOnce([this] { return OpenControlSocket(); })},
      {"http", seconds(1), AtOnce([this] { return OpenHttp(); })},
      {"notify", seconds(1), AtOnce([this] { TellReady(); })},
  };
}

// All of it within the two seconds from SIGTERM to the end (agent_test), unless MIG is being
// changed: that is put back first, and its end told to whoever ordered it.
std::vector<StopStep> Agent::StopSteps() {
  return {
      {"notify", milliseconds(100), AtOnce([this] { watchdog_->Cancel(); }), {"notify"}},
      {"config",
       milliseconds(100),
       AtOnce([this] {
         config_watch_.Stop();
         overlay_watch_.Stop();
         overlay_node_.reset();
         plugin_watch_.Stop();
         named_.Stop();
       }),
       {"config"}},
      {"labels", milliseconds(100), AtOnce([this] { StopLabels(); }), {"labels"}},
      {"device plugin",
       milliseconds(100),
       AtOnce([this] {
         StopPlugin();
         runner_watch_.Stop();
         runner_inode_.reset();
         mps_.Stop();
       }),
       {"device plugin"}},
      {"http", milliseconds(100), AtOnce([this] { http_.Stop(); }), {"http"}},
      // Under the five minutes after which systemd kills; what is not put back by then is waited
      // for at the very end.
      {"mig", minutes(4), [this](const Done& done) { mig_.Stop([done] { done({}); }); }, {"mig"}},
      {"control socket",
       milliseconds(100),
       AtOnce([this] { control_.Stop(); }),
       {"control socket"}},
      {"cdi",
       milliseconds(200),
       [this](const Done& done) { cdi_.Stop([done] { done({}); }); },
       {"cdi"}},
      {"kubelet",
       milliseconds(50),
       AtOnce([this] {
         reach_.Stop();
         kubelet_.Stop();
       }),
       {"kubelet"}},
      {"cluster", milliseconds(100), AtOnce([this] { cluster_.Stop(); }), {"cluster"}},
      {"ledger", milliseconds(100), AtOnce([this] { return ledger_.Close(); }), {"ledger"}},
      {"health", milliseconds(100), AtOnce([this] { health_.Stop(); }), {"health"}},
      // Whoever waits for events is back within a tick.
      {"inventory",
       milliseconds(1200),
       [this](const Done& done) {
         stuck_.Stop();
         node_.Stop([done] { done({}); });
       },
       {"inventory"}},
      {"lock",
       milliseconds(100),
       AtOnce([this] {
         lock_timer_->Cancel();
         place_.GiveBack();
       }),
       {"lock"}},
      {"signals", milliseconds(100), AtOnce([this] { signals_.reset(); }), {"signals"}},
  };
}

Agent::Agent(net::Loop& loop, base::Log& log, Notifier notifier, AgentOptions options)
    : loop_(loop),
      log_(log),
      notifier_(std::move(notifier)),
      options_(std::move(options)),
      keeper_(options_.config, options_.state_directory),
      config_watch_(loop, "config"),
      overlay_watch_(loop, "config-overlays"),
      plugin_watch_(loop, "plugin-config"),
      runner_watch_(loop, "mps-runner"),
      place_(options_.run_directory, options_.state_directory),
      cluster_(loop,
               log,
               options_.connect ? options_.connect : ConnectApiServer(options_.version),
               [this] { TellCluster(); }),
      named_(loop, log, cluster_, options_.state_directory, [this] { ChooseAgain(); }),
      lock_timer_(loop.NewTimer("agent-lock")),
      control_(loop, log),
      http_(loop),
      kubelet_(loop, log),
      reach_(loop, log, kubelet_, [this] { plugin_.SetReach(reach_.looked(), reach_.disabled()); }),
      ledger_(loop, log, [this] { TellLedger(); }),
      node_(loop, log),
      health_(loop, log, node_),
      stuck_(
          loop,
          {[this] { return StuckCalls(); },
           [this](const std::string& calls) { SessionStuck(calls); }, [this] { SessionFree(); }}),
      mig_(loop, log, node_, ledger_),
      cdi_(loop, log, [this] { TellCdi(); }),
      mps_(
          loop,
          log,
          MakeMpsRunner,
          [this] { plugin_.SetDomains(mps_.Problems(), mps_.Kept()); },
          [this] { return MpsHolders(); }),
      plugin_(loop, log, ledger_, kubelet_, [this] { TellPlugin(); }),
      labels_(
          loop, log, cluster_, [this] { TellLabels(); }, service::inventory::ReadNodeFacts),
      watchdog_(loop.NewTimer("watchdog")),
      steps_(loop, log, StartSteps(), StopSteps()) {
  readiness_.Expect("config");
  readiness_.Expect("inventory");
  readiness_.Expect("ledger");
  control_.Register("agent.state",
                    [this](const std::shared_ptr<control::Call>& call) { call->Finish(State()); });
  control_.Register("config.named", [this](const std::shared_ptr<control::Call>& call) {
    call->Finish(NamedReport());
  });
  control_.Register("ledger", [this](const std::shared_ptr<control::Call>& call) {
    call->Finish(ledger_.Document());
  });
  control_.Register("plugin.report", [this](const std::shared_ptr<control::Call>& call) {
    call->Finish(service::device_plugin::ToWire(plugin_.Report()));
  });
  control_.Register("labels",
                    [this](const std::shared_ptr<control::Call>& call) { TellLabelsTo(*call); });
  control_.Register("reload", [this](const std::shared_ptr<control::Call>& call) {
    base::Result<std::vector<std::string>> changed = Reload();
    if (!changed.ok()) return call->Finish(std::move(changed).error());
    Value keys = Value::List();
    for (const std::string& key : *changed) keys.Add(key);
    call->Finish(Value::Map().Set("changed", std::move(keys)));
  });
  control_.Register("driver.reopen", [this](const std::shared_ptr<control::Call>& call) {
    node_.Reopen([this, call](base::Result<void> end) {
      if (!end.ok()) return call->Finish(std::move(end).error());
      call->Finish(Value::Map().Set("session", node_.live().current()->session));
    });
  });
  mig_.Register(control_);
  health_.Register(control_);
  control_.Register("status", [this](const std::shared_ptr<control::Call>& call) {
    node_.live().LookPatiently(
        hw::nvml::Parts::All(), [this, call](const service::inventory::SnapshotPtr& snapshot) {
          call->Finish(StatusReply(*snapshot, loop_.clock().Now(), mps_.Report()));
        });
  });
  http_.Serve("/healthz", [](const net::HttpRequest&) {
    return net::HttpResponse{.body = "ok\n"};  // the loop runs, or nobody would answer
  });
  http_.Serve("/readyz", [this](const net::HttpRequest&) {
    return net::HttpResponse{.status = readiness_.ready() ? 200 : 503, .body = readiness_.Text()};
  });
}

Agent::~Agent() = default;

void Agent::Start(std::function<void(base::Result<void>)> ended) {
  log_.Info("agent starting",
            {{LogKey::kVersion, options_.version}, {LogKey::kPid, std::int64_t{getpid()}}});
  steps_.Start(
      [this] {
        running_ = true;
        log_.Info("agent running", {{LogKey::kAddress, ToString(http_.address())}});
        // What was written since it was read.
        if (keeper_.Differs()) (void)Reload();
        // What the API server told meanwhile.
        ChooseAgain();
      },
      [this, ended = std::move(ended)](base::Result<void> end) {
        if (end.ok())
          log_.Info("agent stopped");
        else
          log_.Error("agent not started", base::ErrorFields(end.error()));
        ended(std::move(end));
      });
}

void Agent::CatchSignals() {
  signals_ =
      loop_.OnSignals({SIGTERM, SIGINT, SIGQUIT, SIGHUP}, [this](int signal) { OnSignal(signal); });
}

void Agent::OnSignal(int signal) {
  if (signal == SIGHUP) {
    (void)Reload();  // it has logged what was wrong
    return;
  }
  // Whoever wants it ended wants no other in its place.
  wants_replacing_ = false;
  if (steps_.stopping()) return;
  log_.Info("agent stopping", {{LogKey::kSignal, fmt::format("SIG{}", sigabbrev_np(signal))}});
  running_ = false;
  notifier_.Stopping();
  steps_.Stop();
}

void Agent::TakeLock(const Done& done) {
  const base::Result<bool> ours = place_.Take(kName);
  if (!ours.ok()) return done(ours.error());
  if (*ours) return done({});
  if (place_.holder() != lock_holder_) {
    lock_holder_ = place_.holder();
    const std::string waiting =
        fmt::format("waiting for {}, the agent that runs here", lock_holder_);
    log_.Info(waiting, {{LogKey::kPath, options_.run_directory}});
    notifier_.Status(waiting);
  }
  lock_timer_->After(kBetweenLockTries, [this, done] { TakeLock(done); });
}

void Agent::CheckPlace() {
  if (!running_) return;
  kubelet_.Look();
  if (place_.Lost()) {
    const base::Result<bool> ours = place_.Take(kName);
    if (ours.ok() && !*ours) {
      log_.Error("the agent's lock was removed, and another agent has it now: this one ends",
                 {{LogKey::kError, place_.holder()}});
      return Stop();
    }
    if (ours.ok())
      log_.Warn("the agent's lock was removed: it is there again",
                {{LogKey::kPath, options_.run_directory}});
    else
      log_.Error("the agent's lock was removed", base::ErrorFields(ours.error()));
  }
  if (!control_.Lost()) return;
  const base::Result<void> listens = OpenControlSocket();
  if (listens.ok())
    log_.Warn("the control socket was removed: it is there again",
              {{LogKey::kPath, options_.run_directory}});
  else
    log_.Error("the control socket was removed", base::ErrorFields(listens.error()));
}

void Agent::LookAtNode(const Done& done) {
  NodeOptions options;
  options.root = config_.config.host_root.value;
  options.driver_root = config_.config.driver_root.value;
  options.state_directory = options_.state_directory;
  node_.Start(options, [this, done] {
    const model::Inventory& inventory = node_.live().current()->inventory;
    TellDriver(inventory);
    TellLedger();
    const bool fails =
        options_.device_plugin && plugin_config_ && plugin_config_->fail_on_init_error;
    if (fails && !inventory.driver) return done(model::WhyNoDriver(inventory));
    done({});
  });
  node_.live().OnLooked([this](const service::inventory::SnapshotPtr& snapshot) {
    TellDriver(snapshot->inventory);
    ledger_.Observe(snapshot);
    stuck_.Check();
    CheckPlace();
    cdi_.Looked();
  });
}

// Under the reference's name there is none: NVIDIA's plugin asks the API server nothing.
void Agent::StartCluster() {
  if (options_.device_plugin) return;
  cluster_.OnConnected([this] { Connected(); });
  cluster_.Start({config_.config.kubeconfig.value, NodeName(config_.config.node_name.value)});
  if (cluster_.client() != nullptr) TellCluster();
}

// What was begun without an API server, that there is now.
void Agent::Connected() {
  if (steps_.stopping()) return;
  if (ChoosesPlugin(config_.config)) named_.Follow(config_.config);
  if (labels_.running()) {
    StopLabels();
    StartLabels(config_.config);
  }
  TellConfigToCluster();
}

// GPUs are offered whoever reaches the API server.
void Agent::TellCluster() { readiness_.SetGood("cluster", cluster_.problem()); }

// A machine without a driver is served as soon as there is one.
void Agent::TellDriver(const model::Inventory& inventory) {
  const std::string why = inventory.driver ? "" : model::WhyNoDriver(inventory).ToString();
  readiness_.SetGood("inventory", why.empty() ? "" : "no driver answers");
  if (std::exchange(no_driver_, why) == why) return;
  if (why.empty())
    log_.Info("the driver answers");
  else
    log_.Warn("no driver answers: nothing can be offered until one does", {{LogKey::kError, why}});
}

void Agent::StartCdi(const Done& done) {
  if (options_.cdi_directory.empty()) return done({});
  cdi_.Start(CdiOptionsOf(config_.config), node_.live(), [this, done] {
    TellCdi();
    done({});
  });
}

// Files that could not be written take nothing away: the ones before are there.
void Agent::TellCdi() { readiness_.SetGood("cdi", cdi_.problem()); }

void Agent::TellLedger() {
  if (!ledger_.problem().empty())
    readiness_.SetBad("ledger", ledger_.problem());
  else
    readiness_.SetGood("ledger", ledger_.warning());
}

base::Result<void> Agent::OpenControlSocket() {
  return control_.Listen(base::JoinPath(options_.run_directory, "agent.sock"));
}

base::Result<void> Agent::OpenHttp() {
  TRY(open, PrepareHttp(config_.config));
  open();
  return {};
}

// Heard from here on: the start goes on, and what changes in it would never be told.
void Agent::TellReady() {
  notifier_.Ready(readiness_.Summary());
  readiness_.OnChange([this] { TellStatus(); });
  if (const auto period = notifier_.watchdog_period())
    watchdog_->Every(*period, [this] { notifier_.Watchdog(); });
}

void Agent::TellStatus() { notifier_.Status(readiness_.Summary()); }

base::Value Agent::State() const {
  Value checks = Value::List(), wake_ups = Value::List();
  for (const Readiness::Check& check : readiness_.checks())
    checks.Add(Value::Map().Set("name", check.name).Set("problem", check.problem));
  for (const net::WakeUps& each : loop_.CountWakeUps())
    wake_ups.Add(Value::Map().Set("name", each.name).Set("count", each.count));
  return Value::Map()
      .Set("version", options_.version)
      .Set("pid", std::int64_t{getpid()})
      .Set("ready", readiness_.ready())
      .Set("checks", std::move(checks))
      .Set("listen", ToString(http_.address()))
      .Set("config",
           Value::Map()
               .Set("file", keeper_.path())
               .Set("overlay", keeper_.overlay())
               .Set("serving", config_.serving)
               .Set("rejected", config_.rejected ? Value(config_.rejected->ToString()) : Value())
               .Set("named", NamedState()))
      .Set("cluster", cluster_.State())
      .Set("kubelet", kubelet_.State())
      .Set("engine", reach_.State())
      .Set("ledger", ledger_.Counts())
      .Set("cdi", cdi_.State())
      .Set("devicePlugin", plugin_.running() ? plugin_.State() : Value())
      .Set("mps", mps_.running() ? mps_.State() : Value())
      .Set("labels", labels_.State())
      .Set("mig", running_ ? mig_.State(config_.config) : Value())
      .Set("wakeUps", std::move(wake_ups));
}

base::Result<void> RunAgent(AgentOptions options) {
  // Whoever reads the log may go.
  std::signal(SIGPIPE, SIG_IGN);
  // Also where it was replaced: then the kernel calls it "exe".
  (void)prctl(PR_SET_NAME, "partita");
  // Before the notifier takes its variables out.
  TRY(invoked, Invoked::Now());
  const std::unique_ptr<net::Loop> loop = net::NewLoop();
  base::Log log(loop->clock(), base::StandardErrorSink());
  if (base::StandardErrorIsJournal()) options.text_format = base::LogFormat::kJournal;
  // Flags and variables hold from the first line on.
  TRY(early, config::DefaultAgentConfig(options.config.overrides));
  SetLog(log, early, options.text_format);
  Agent agent(*loop, log, Notifier::FromEnvironment(), std::move(options));
  base::Result<void> result;
  agent.Start([&](base::Result<void> end) {
    result = std::move(end);
    loop->Stop();
  });
  loop->Run();
  // At once: who is left in the old session would be waited for in vain.
  if (agent.wants_replacing()) result = ReplaceThisProcess(invoked);
  if (agent.wants_replacing() && !result.ok())
    log.Error("not replaced", base::ErrorFields(result.error()));
  // Whoever is left in the driver or in a file system is not waited for: the kernel ends it with
  // the process.
  if (agent.node().running() || agent.writes_cdi()) {
    log.Warn(agent.writes_cdi() ? "CDI files are still at work: ended without them"
                                : "a call of the driver has not come back: ended without it");
    std::_Exit(result.ok() ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  return result;
}

}  // namespace partita::agent
