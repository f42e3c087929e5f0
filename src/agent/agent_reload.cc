// The agent's configuration: read at the start, watched, and another one put into force.

#include <fmt/format.h>

#include "agent/agent.h"
#include "base/listen_address.h"
#include "base/text.h"

namespace partita::agent {
namespace {

using base::LogKey;

base::LogLevel LevelNamed(const std::string& name) {
  if (name == "debug") return base::LogLevel::kDebug;
  if (name == "warn") return base::LogLevel::kWarn;
  if (name == "error") return base::LogLevel::kError;
  return base::LogLevel::kInfo;
}

// Without the line of the file and the caret below it.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

void SetLog(base::Log& log, const config::AgentConfig& config, base::LogFormat text_format) {
  log.SetLevel(LevelNamed(config.log_level.value));
  log.SetFormat(config.log_format.value == "json" ? base::LogFormat::kJson : text_format);
}

void Agent::ReadConfig() {
  config_ = keeper_.ReadAtStart();
  SetLog(log_, config_.config, options_.text_format);
  if (!config_.warning.empty())
    log_.Warn("last good configuration", {{LogKey::kError, config_.warning}});
  if (config_.rejected)
    log_.Error(config_.serving ? "bad configuration: the last good one is in force"
                               : "bad configuration, and no good one is known: nothing is served",
               base::ErrorFields(*config_.rejected));
  TellConfig();
}

// A bad file takes away nothing that is served: it is told, and no problem as long as a good one is
// in force.
void Agent::TellConfig() {
  std::vector<std::string> rejected;
  for (const std::optional<base::Error>* each : {&config_.rejected, &plugin_rejected_})
    if (*each) rejected.push_back(FirstLine((*each)->ToString()));
  if (!config_.serving)
    readiness_.SetBad("config", fmt::format("{} is bad and no good one is known", keeper_.path()));
  else if (!rejected.empty())
    readiness_.SetGood(
        "config", fmt::format("the last good one is in force: {}", base::Join(rejected, "; ")));
  else
    readiness_.SetGood("config");
  TellConfigToCluster();
}

void Agent::WatchConfig() {
  const base::Result<void> watched = config_watch_.Start(keeper_.path(), [this] {
    if (running_ && keeper_.Differs())
      (void)Reload(Telling::kNews);  // it has logged what was wrong
  });
  if (!watched.ok())
    log_.Warn("the configuration is not watched: tell the agent when it changed (SIGHUP)",
              base::ErrorFields(watched.error()));
}

// Under the reference's name there is no file of our own, and nothing to lay over it.
void Agent::FollowOverlay() {
  if (options_.device_plugin) return;
  overlay_node_ = cluster_.OnNode([this](const base::Value& node) { SelectOverlay(node); });
  // Nobody can set a label: it is read without one at the end of the start.
  if (cluster_.absent()) (void)keeper_.SelectOverlay("");
  const base::Result<void> watched =
      overlay_watch_.Start(config::OverlayFolder(keeper_.path()) + "/any", [this] {
        if (running_ && !keeper_.overlay().empty() && keeper_.Differs())
          (void)Reload(Telling::kNews);  // it has logged what was wrong
      });
  if (!watched.ok())
    log_.Warn("overlays are not watched: tell the agent when one changed (SIGHUP)",
              base::ErrorFields(watched.error()));
}

// One that begins reads it again at the end of its start.
void Agent::SelectOverlay(const base::Value& node) {
  const base::Value* metadata = node.Find("metadata");
  const base::Value* labels = metadata == nullptr ? nullptr : metadata->Find("labels");
  const base::Value* value = labels == nullptr ? nullptr : labels->Find(config::kOverlayLabel);
  if (node.IsNull()) return;
  const bool set = value != nullptr && value->kind() == base::Value::Kind::kString;
  if (keeper_.SelectOverlay(set ? value->AsString() : "") && running_)
    (void)Reload(Telling::kNews);  // it has logged what was wrong
}

std::vector<ReloadPart> Agent::ReloadParts() {
  return {
      {"log", [this](const config::AgentConfig& next) { return PrepareLog(next); }},
      {"http", [this](const config::AgentConfig& next) { return PrepareHttp(next); }},
      {"node", [this](const config::AgentConfig& next) { return PrepareNode(next); }},
      {"health", [this](const config::AgentConfig& next) { return PrepareHealth(next); }},
      {"device plugin", [this](const config::AgentConfig& next) { return PreparePlugin(next); }},
      // After it: labels tell what it goes by.
      {"labels", [this](const config::AgentConfig& next) { return PrepareLabels(next); }},
  };
}

base::Result<net::Task> Agent::PrepareLog(const config::AgentConfig& next) {
  return net::Task([this, next] { SetLog(log_, next, options_.text_format); });
}

base::Result<net::Task> Agent::PrepareHttp(const config::AgentConfig& next) {
  TRY(address, base::ParseListenAddress(next.listen.value));
  const bool listens = http_.address().kind != base::ListenAddress::Kind::kOff;
  if (listens && next.listen.value == config_.config.listen.value) return net::Task([] {});
  if (address.kind == base::ListenAddress::Kind::kOff)
    return net::Task([this] { http_.Listen(nullptr); });
  TRY(opened, net::Listener::Open(address, 0666), "listen");
  // Tasks can be copied, a listener cannot.
  auto listener = std::make_shared<std::unique_ptr<net::Listener>>(std::move(opened));
  return net::Task([this, listener] { http_.Listen(std::move(*listener)); });
}

// Everything that was read hangs on them: handles, subscriptions, a ledger compared with that node.
base::Result<net::Task> Agent::PrepareNode(const config::AgentConfig& next) {
  for (const auto& [key, member] : {std::pair("node.name", &config::AgentConfig::node_name),
                                    std::pair("node.kubeconfig", &config::AgentConfig::kubeconfig),
                                    std::pair("node.hostRoot", &config::AgentConfig::host_root),
                                    std::pair("node.driverRoot", &config::AgentConfig::driver_root),
                                    std::pair("mps.root", &config::AgentConfig::mps_root)}) {
    const std::string& now = (config_.config.*member).value;
    const std::string& wanted = (next.*member).value;
    if (wanted == now) continue;
    return base::MakeError(base::ErrorCode::kUnsupported,
                           "{} is \"{}\" for the life of an agent and cannot become \"{}\"", key,
                           now, wanted)
        .WithHint("restart the agent: systemctl restart partita-agent");
  }
  return net::Task([] {});
}

// What is read again: under the reference's name its file, and of our own there is none.
std::string Agent::ReloadedFile() const {
  return options_.device_plugin ? options_.device_plugin->config_file : keeper_.path();
}

base::Result<std::vector<std::string>> Agent::Reload(Telling telling) {
  if (!running_) {
    return base::Error(base::ErrorCode::kBusy, "the agent is starting or stopping")
        .WithHint("try again when it runs");
  }
  notifier_.Reloading(loop_.clock().Now());
  base::Result<std::vector<std::string>> changed = ReloadNow();
  if (changed.ok()) {
    log_.Info("configuration reloaded", {{LogKey::kPath, ReloadedFile()}});
  } else {
    // Who asked is answered; a file that is written in several steps is told once.
    const bool news =
        !config_.rejected || config_.rejected->ToString() != changed.error().ToString();
    config_.rejected = changed.error();
    TellConfig();
    if (news || telling == Telling::kAlways)
      log_.Error("bad configuration: the one before stays in force",
                 base::ErrorFields(changed.error()));
  }
  notifier_.Ready(readiness_.Summary());
  return changed;
}

base::Result<std::vector<std::string>> Agent::ReloadNow() {
  TRY(next, keeper_.Read());
  std::vector<net::Task> commits;
  for (const ReloadPart& part : ReloadParts()) {
    TRY(commit, part.prepare(next.config), "{}", part.name);
    commits.push_back(std::move(commit));
  }
  for (const net::Task& commit : commits) commit();
  std::vector<std::string> changed = config::ChangedKeys(config_.config, next.config);
  if (const base::Result<void> kept = keeper_.Keep(next); !kept.ok())
    log_.Warn("the configuration is in force, but was not kept as the last good one",
              base::ErrorFields(kept.error()));
  config_ = {};
  config_.config = std::move(next.config);
  WatchPlugin();
  TellConfig();
  return changed;
}

}  // namespace partita::agent
