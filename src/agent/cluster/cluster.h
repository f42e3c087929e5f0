// The agent's one connection with the API server: our Node as it is there, Events and conditions on
// it. Where there is no API server the agent runs without all of it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/cluster/contention.h"
#include "base/log.h"
#include "base/result.h"
#include "base/value.h"
#include "kube/backoff.h"
#include "kube/client.h"
#include "kube/conditions.h"
#include "kube/events.h"
#include "net/loop.h"

namespace partita::agent {

struct ClusterConnection {
  std::unique_ptr<kube::Client> client;
  std::string server;      // for people: who said where it is
  std::string name_space;  // the pod's, or the context's
};
// kNotFound: there is none.
using ConnectCluster =
    std::function<base::Result<ClusterConnection>(net::Loop& loop, const std::string& kubeconfig)>;
// The API server that the file names; empty: $KUBECONFIG, else the pod's own.
[[nodiscard]] ConnectCluster ConnectApiServer(std::string version);

// The node's name in Kubernetes: what is configured, else the machine's in small letters, as
// kubelet has it.
[[nodiscard]] std::string NodeName(const std::string& configured);

// Loop's thread only. Loop and log outlive it.
class Cluster {
 public:
  // Of conditions: whoever reads them may take one for dead that nobody confirms.
  static constexpr std::chrono::minutes kHeartbeat{5};

  // How often a kubeconfig is read that is not there, or is not whole yet.
  static constexpr std::chrono::seconds kConnectAgain{30};

  // A watch that lives so long after a failure is well again.
  static constexpr std::chrono::seconds kWell{6};

  // `on_change` is called when `problem` becomes another.
  Cluster(net::Loop& loop,
          base::Log& log,
          ConnectCluster connect,
          net::Task on_change,
          kube::Random random = kube::SystemRandom());
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster();

  struct Options {
    std::string kubeconfig;  // empty: the pod's own
    std::string node_name;
    bool operator==(const Options&) const = default;
  };
  // Never fails: what keeps it from working is told, and `why_off` says why there is none. Unless
  // it is absent, it is tried again.
  void Start(const Options& options);
  // `connected` is called when there is a client that Start did not find.
  void OnConnected(net::Task connected) { connected_ = std::move(connected); }
  // Everything that was got from `client` is gone before.
  void Stop();

  // Null: there is none, or none yet. Once it is there, the same until Stop.
  [[nodiscard]] kube::Client* client() { return connection_.client.get(); }
  [[nodiscard]] const std::string& name_space() const { return connection_.name_space; }
  [[nodiscard]] const std::string& node_name() const { return options_.node_name; }
  [[nodiscard]] std::string NodePath() const;
  [[nodiscard]] net::Loop& loop() { return loop_; }

  // Our Node as it was last seen; null: not seen, or gone.
  [[nodiscard]] const base::Value& node() const { return node_; }
  // Called with it after each change, until what is returned goes, which it must do before this
  // object. Null: it is gone.
  using NodeSubscriber = std::function<void(const base::Value& node)>;
  [[nodiscard]] std::shared_ptr<void> OnNode(NodeSubscriber subscriber);

  // An Event on our Node. The same reason and key are the same event; an empty key is the note.
  // Without an API server it is nothing: whoever tells it has logged it.
  void Tell(kube::EventType type,
            const std::string& reason,
            const std::string& note,
            const std::string& key = "");

  // What our Node's status says under this type from now on: written when it differs, whoever
  // changed it (with growing pauses where he does it again), and confirmed every five minutes. Kept
  // while there is no API server or no Node.
  enum class Status : std::uint8_t { kFalse, kTrue, kUnknown };
  void SetCondition(const std::string& type,
                    Status status,
                    const std::string& reason,
                    const std::string& message);

  // Why there is no client; empty: there is one, or it was never started.
  [[nodiscard]] const std::string& why_off() const { return why_off_; }
  // This machine is in no cluster, and nobody waits for one.
  [[nodiscard]] bool absent() const { return !connection_.client && !(again_ && again_->armed()); }
  // What is wrong with it; empty: nothing, or there is none.
  [[nodiscard]] const std::string& problem() const {
    return problem_.empty() ? event_problem_ : problem_;
  }
  // {"server": …, "node": name, "seen": true, "problem": "", "requests": {"patch nodes": 3}}; null
  // where it was never started.
  [[nodiscard]] base::Value State() const;

 private:
  void Connect();
  void NotConnected(base::Error error);
  void Watch();
  void Saw(const base::Value& node);
  void Gone();
  void SetProblem(std::string problem);
  void EventEnded(const base::Result<void>& how);
  void WriteConditions(const kube::Retrying::Done& done);
  [[nodiscard]] bool ConditionsDiffer() const;
  void CheckConditions();
  void ArmHeartbeat();

  net::Loop& loop_;
  base::Log& log_;
  ConnectCluster connect_;
  net::Task on_change_, connected_;
  kube::Random random_;
  Options options_;
  bool started_ = false;
  std::string why_off_, problem_, event_problem_;
  base::Value node_;
  std::vector<std::shared_ptr<NodeSubscriber>> subscribers_;
  std::vector<kube::Condition> conditions_;
  base::RepeatedFailure connect_failure_, watch_failure_, condition_failure_, event_failure_;
  std::unique_ptr<net::Timer> again_;  // until there is a client
  // In the order in which they are made: each uses those before it.
  ClusterConnection connection_;
  std::unique_ptr<kube::EventRecorder> events_;
  std::unique_ptr<kube::Retrying> writing_;  // of conditions
  std::unique_ptr<Contention> contention_;   // over them
  std::unique_ptr<net::Timer> heartbeat_, well_;
  std::unique_ptr<kube::Watching> watching_;
};

}  // namespace partita::agent
