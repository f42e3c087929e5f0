// Labels of this node, kept as it is: rendered when its GPUs or the device plugin's configuration
// change, and brought to where the configuration says. What another configuration brought elsewhere
// is taken away there.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cluster/cluster.h"
#include "agent/cluster/label_memory.h"
#include "agent/cluster/label_output.h"
#include "agent/cluster/taint_keeper.h"
#include "base/log.h"
#include "base/value.h"
#include "config/plugin_config.h"
#include "kube/backoff.h"
#include "model/node_facts.h"
#include "net/loop.h"
#include "service/inventory/snapshot.h"
#include "service/labels/labels.h"
#include "service/labels/taints.h"

namespace partita::agent {

enum class LabelBackend : std::uint8_t { kNone, kNode, kNodeFeature, kFile };

struct LabelOptions {
  LabelBackend backend = LabelBackend::kNode;
  std::string file;                              // of kFile
  std::string pod;                               // ours, for kNodeFeature; empty: nobody's
  net::Duration resync = std::chrono::hours(1);  // with a tenth of it left to chance
  bool per_model = true;
  std::optional<service::labels::Taint> taint{};  // while there are GPUs; absent: none
  config::PluginConfig plugin{};                  // how GPUs are shared and MIG devices are named
  std::string root = "/";                         // above the host's /sys
  std::string state_directory{};                  // labels.json
  bool operator==(const LabelOptions&) const = default;
};

// Loop's thread only. What it is given outlives it.
class LabelPublisher {
 public:
  // Several changes that come together are one write.
  static constexpr std::chrono::milliseconds kSettles{200};
  // A driver that is exchanged is back within this; until then the labels of its GPUs stay.
  static constexpr std::chrono::seconds kWithoutDriver{60};

  using ReadFacts = std::function<model::NodeFacts(const std::string& root)>;

  // `changed` is called when problem() becomes another.
  LabelPublisher(net::Loop& loop,
                 base::Log& log,
                 Cluster& cluster,
                 net::Task changed,
                 ReadFacts read_facts,
                 kube::Random random = kube::SystemRandom());
  LabelPublisher(const LabelPublisher&) = delete;
  LabelPublisher& operator=(const LabelPublisher&) = delete;
  ~LabelPublisher();

  // After the cluster's start.
  void Start(LabelOptions options, const service::inventory::SnapshotPtr& snapshot);
  // Before the cluster's stop. Labels stay.
  void Stop();
  [[nodiscard]] bool running() const { return running_; }

  void SetOptions(LabelOptions options);
  void SetNode(const service::inventory::SnapshotPtr& snapshot);
  // kubelet knows what is offered here: the taint that kept pods away until then goes.
  void SetReady();

  // Why labels or taints are not as they should be; empty: they are, or there is no cluster.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // As they would be written now.
  [[nodiscard]] service::labels::Rendering Render(bool ours = true) const;
  // Of "agent.state".
  [[nodiscard]] base::Value State() const;

 private:
  void RenderSoon(net::Duration pause);
  void Publish();
  [[nodiscard]] bool WaitsForDriver(const service::labels::Rendering& next) const;
  // What is wanted at every place where something of ours is or shall be.
  void SetOutputs();
  LabelOutput& OutputOf(LabelBackend backend);
  [[nodiscard]] bool IsNoted(LabelBackend backend) const;
  void Note(LabelBackend backend, bool there);
  // `gone`: what was taken away; else it stays, and is nobody's business any more.
  void Ended(LabelBackend backend, bool gone);
  void SetProblem(LabelBackend backend, const std::string& problem);
  void TellProblem();
  void ReadFactsAnew();
  void ResyncLater();

  net::Loop& loop_;
  base::Log& log_;
  Cluster& cluster_;
  net::Task changed_;
  ReadFacts read_facts_;
  kube::Random random_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  bool running_ = false;
  LabelOptions options_;
  LabelMemory memory_;
  service::inventory::SnapshotPtr snapshot_;
  model::NodeFacts facts_;
  std::vector<model::PciAddress> facts_of_;  // which GPUs there were
  std::optional<service::labels::Rendering> published_;
  std::vector<std::string> warned_;
  base::Clock::Steady driver_gone_{};
  bool no_driver_ = false;
  bool waits_for_driver_ = false;  // settles_ is for the end of its minute
  std::map<LabelBackend, std::string> problems_;
  std::string problem_;
  std::unique_ptr<net::Timer> settles_, resync_;
  std::map<LabelBackend, std::unique_ptr<LabelOutput>> outputs_;
  TaintKeeper taints_;
  std::shared_ptr<void> node_;
};

}  // namespace partita::agent
