#include "agent/cluster/cluster.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::agent {
namespace {

using base::LogKey;
using base::Value;

// Field managers are told apart in `kubectl get node -o yaml --show-managed-fields`.
constexpr std::string_view kStatusManager = "partita-status";

std::string StatusWord(Cluster::Status status) {
  switch (status) {
    case Cluster::Status::kFalse: return "False";
    case Cluster::Status::kTrue: return "True";
    case Cluster::Status::kUnknown: return "Unknown";
  }
  return "";
}

}  // namespace

ConnectCluster ConnectApiServer(std::string version) {
  return [version = std::move(version)](
             net::Loop& loop, const std::string& kubeconfig) -> base::Result<ClusterConnection> {
    TRY(access, kube::FindAccess(kubeconfig, kube::ProcessEnvironment()));
    ClusterConnection connection;
    connection.server = access.origin;
    connection.name_space = access.namespace_;
    connection.client = kube::NewClient(loop, "api", std::move(access), kube::SystemRandom(),
                                        fmt::format("partita/{}", version));
    return connection;
  };
}

std::string NodeName(const std::string& configured) {
  if (!configured.empty()) return configured;
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return base::ToLower(name.data());
}

Cluster::Cluster(net::Loop& loop,
                 base::Log& log,
                 ConnectCluster connect,
                 net::Task on_change,
                 kube::Random random)
    : loop_(loop),
      log_(log),
      connect_(std::move(connect)),
      on_change_(std::move(on_change)),
      random_(std::move(random)),
      connect_failure_(
          log, "no API server is reached, and nothing is written to a cluster: it is tried again"),
      watch_failure_(log, "our Node is not seen: it is tried again"),
      condition_failure_(log, "conditions are not written: they are tried again"),
      event_failure_(log, "Events are refused: what they say is in this log alone") {}

Cluster::~Cluster() { Stop(); }

void Cluster::Start(const Options& options) {
  options_ = options;
  started_ = true;
  again_ = loop_.NewTimer("api-connect");
  Connect();
}

void Cluster::Connect() {
  base::Result<ClusterConnection> connection = connect_(loop_, options_.kubeconfig);
  if (!connection.ok()) return NotConnected(std::move(connection).error());
  const bool later = !std::exchange(why_off_, "").empty();
  connect_failure_.Succeeded();
  SetProblem("");
  connection_ = *std::move(connection);
  log_.Info("API server", {{LogKey::kPath, connection_.server}, {LogKey::kNode, node_name()}});
  events_ = std::make_unique<kube::EventRecorder>(loop_, *connection_.client, random_, node_name());
  events_->OnEnd([this](const base::Result<void>& how) { EventEnded(how); });
  writing_ = std::make_unique<kube::Retrying>(
      loop_, "conditions-again", random_,
      [this](const kube::Retrying::Done& done) { WriteConditions(done); });
  contention_ = std::make_unique<Contention>(loop_, "conditions-contended", random_);
  heartbeat_ = loop_.NewTimer("conditions");
  well_ = loop_.NewTimer("api-well");
  ArmHeartbeat();
  Watch();
  if (later && connected_) connected_();
}

void Cluster::NotConnected(base::Error error) {
  why_off_ = error.ToString();
  // On a machine that is in no cluster nothing is missed.
  if (error.code() == base::ErrorCode::kNotFound && options_.kubeconfig.empty())
    return log_.Info("no API server: nothing is written to a cluster",
                     {{LogKey::kError, why_off_}});
  // A node that has not joined its cluster yet has none; nobody restarts us when it has.
  again_->After(kConnectAgain, [this] { Connect(); });
  if (error.hint().empty() && !options_.kubeconfig.empty())
    error = std::move(error).WithHint(
        "node.kubeconfig names the file: write one that is there, or leave it out, and the pod's "
        "own account counts");
  connect_failure_.Failed(error, {}, base::LogLevel::kError);
  SetProblem(why_off_);
}

void Cluster::Stop() {
  again_.reset();
  watching_.reset();
  heartbeat_.reset();
  well_.reset();
  contention_.reset();
  writing_.reset();
  events_.reset();
  connection_ = {};
  node_ = {};
  started_ = false;
  why_off_.clear();
  problem_.clear();
  event_problem_.clear();
}

std::string Cluster::NodePath() const { return "/api/v1/nodes/" + node_name(); }

void Cluster::Watch() {
  kube::WatchEvents events;
  events.seen = [this](const Value& node) { Saw(node); };
  events.gone = [this](const kube::ObjectName&) { Gone(); };
  events.synced = [this] {
    watch_failure_.Succeeded();
    if (!node_.IsNull()) return SetProblem("");
    const std::string problem = fmt::format("the cluster has no node \"{}\"", node_name());
    if (problem_ != problem)
      log_.Warn(problem, {{LogKey::kHint, "node.name or NODE_NAME says what the node is called"}});
    SetProblem(problem);
  };
  // One that is cut again and again is not well in between.
  events.resumed = [this] {
    well_->After(kWell, [this] {
      watch_failure_.Succeeded();
      if (!node_.IsNull()) SetProblem("");
    });
  };
  events.failed = [this](const base::Error& error) {
    well_->Cancel();
    watch_failure_.Failed(error);
    SetProblem(error.ToString());
  };
  watching_ = connection_.client->Watch(
      "/api/v1/nodes", kube::FieldSelector("metadata.name", node_name()), std::move(events));
}

void Cluster::Saw(const Value& node) {
  node_ = node;
  if (watch_failure_.attempts() == 0) SetProblem("");
  CheckConditions();
  for (const std::shared_ptr<NodeSubscriber>& each :
       std::vector(subscribers_.begin(), subscribers_.end()))
    if (*each) (*each)(node_);
}

void Cluster::CheckConditions() {
  if (!ConditionsDiffer()) return contention_->Settled();
  // What is on its way will be seen too.
  if (!writing_->at_rest()) return;
  if (contention_->Lost([this] { writing_->Start(); }) == 2)
    log_.Warn("somebody else changes our conditions: they are written again, less and less often",
              {{LogKey::kHint, "find who does it in metadata.managedFields of the Node"}});
}

void Cluster::Gone() {
  node_ = {};
  writing_->Stop();
  contention_->Anew();
  for (const std::shared_ptr<NodeSubscriber>& each :
       std::vector(subscribers_.begin(), subscribers_.end()))
    if (*each) (*each)(node_);
}

std::shared_ptr<void> Cluster::OnNode(NodeSubscriber subscriber) {
  auto kept = std::make_shared<NodeSubscriber>(std::move(subscriber));
  subscribers_.push_back(kept);
  return {kept.get(), [this, kept](void*) {
            *kept = nullptr;
            std::erase(subscribers_, kept);
          }};
}

void Cluster::Tell(kube::EventType type,
                   const std::string& reason,
                   const std::string& note,
                   const std::string& key) {
  if (events_) events_->Record({.kind = "Node", .name = node_name()}, type, reason, note, key);
}

// Each has a path of its own; they are one problem.
void Cluster::EventEnded(const base::Result<void>& how) {
  std::string problem;
  if (how.ok()) {
    event_failure_.Succeeded();
  } else {
    const bool denied = how.error().code() == base::ErrorCode::kDenied;
    const base::Error refused =
        base::Error(how.error().code(), how.error().message())
            .Within(fmt::format("Events of node {}", node_name()))
            .WithHint(denied ? "allow the agent's account to create and patch events of "
                               "events.k8s.io in the namespace \"default\", as the chart does"
                             : how.error().hint());
    event_failure_.Failed(refused);
    problem = refused.ToString();
  }
  if (std::exchange(event_problem_, problem) != problem && on_change_) on_change_();
}

void Cluster::SetCondition(const std::string& type,
                           Status status,
                           const std::string& reason,
                           const std::string& message) {
  const kube::Condition wanted{type, StatusWord(status), reason, message};
  const auto same = std::find_if(conditions_.begin(), conditions_.end(),
                                 [&](const kube::Condition& each) { return each.type == type; });
  if (same == conditions_.end()) {
    conditions_.push_back(wanted);
  } else {
    if (*same == wanted) return;
    *same = wanted;
  }
  if (!heartbeat_) return;
  contention_->Anew();
  // Also where an agent before this one wrote them, and nothing is to be written now.
  if (!heartbeat_->armed()) ArmHeartbeat();
  // What is on its way may be something else than what was seen.
  if (!node_.IsNull() && (!writing_->at_rest() || ConditionsDiffer())) writing_->Start();
}

bool Cluster::ConditionsDiffer() const {
  return std::any_of(conditions_.begin(), conditions_.end(),
                     [&](const kube::Condition& each) { return !kube::HasCondition(node_, each); });
}

void Cluster::WriteConditions(const kube::Retrying::Done& done) {
  // A Node that is gone has none; when it is back they are written.
  if (node_.IsNull() || conditions_.empty()) return done({});
  connection_.client->Patch(fmt::format("{}/status?fieldManager={}", NodePath(), kStatusManager),
                            kube::PatchKind::kStrategic,
                            kube::ConditionsPatch(node_, conditions_, loop_.clock().WallNow()),
                            [this, done](const base::Result<Value>& node) {
                              if (!node.ok()) {
                                condition_failure_.Failed(node.error());
                                return done(node.error());
                              }
                              condition_failure_.Succeeded();
                              ArmHeartbeat();
                              done({});
                            });
}

void Cluster::ArmHeartbeat() {
  if (conditions_.empty()) return;
  heartbeat_->After(kHeartbeat, [this] {
    ArmHeartbeat();
    if (!node_.IsNull()) writing_->Start();
  });
}

void Cluster::SetProblem(std::string problem) {
  if (problem == problem_) return;
  problem_ = std::move(problem);
  if (on_change_) on_change_();
}

Value Cluster::State() const {
  if (!started_) return {};
  Value requests = Value::Map();
  if (connection_.client)
    for (const auto& [verb, count] : connection_.client->counts()) requests.Set(verb, count);
  return Value::Map()
      .Set("server", connection_.client ? Value(connection_.server) : Value())
      .Set("node", node_name())
      .Set("seen", !node_.IsNull())
      .Set("problem", problem().empty() ? why_off_ : problem())
      .Set("requests", std::move(requests));
}

}  // namespace partita::agent
