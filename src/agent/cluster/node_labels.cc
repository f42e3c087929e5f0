#include <memory>
#include <utility>

#include "agent/cluster/label_output.h"
#include "base/text.h"
#include "service/labels/node_state.h"
#include "service/labels/outputs.h"

namespace partita::agent {
namespace {

using base::LogKey;
using base::Value;
using service::labels::Rendering;

// Between two times that somebody else's values are replaced.
constexpr kube::BackoffLimits kContended{std::chrono::seconds(1), std::chrono::minutes(5)};

class NodeLabels final : public LabelOutput {
 public:
  explicit NodeLabels(LabelOutputParts parts)
      : parts_(std::move(parts)),
        failure_(parts_.log, "labels are not written to the Node: it is tried again"),
        applying_(parts_.cluster.loop(),
                  "labels-again",
                  parts_.random,
                  [this](const kube::Retrying::Done& done) { Apply(done); }),
        pause_(parts_.cluster.loop().NewTimer("labels-contended")) {
    subscription_ = parts_.cluster.OnNode([this](const Value&) { Check(); });
  }
  NodeLabels(const NodeLabels&) = delete;
  NodeLabels& operator=(const NodeLabels&) = delete;
  ~NodeLabels() override { *self_ = nullptr; }

  void Set(std::optional<Rendering> wanted) override {
    wanted_ = std::move(wanted);
    told_ = true;
    // Ours is new: that the Node has something else is nobody's doing.
    settled_ = false;
    pause_->Cancel();
    Check();
  }

  void Refresh() override {
    if (!pause_->armed()) lost_ = 0;
    if (told_ && !parts_.cluster.node().IsNull() && wanted_) applying_.Start();
  }

 private:
  [[nodiscard]] const Rendering& Wanted() const {
    static const Rendering nothing;
    return wanted_ ? *wanted_ : nothing;
  }

  void Check() {
    const Value& node = parts_.cluster.node();
    // One that comes again has lost everything, and nobody took it.
    if (node.IsNull()) settled_ = false;
    if (!told_ || node.IsNull()) return;
    // What was sent may be there without being seen.
    const bool sent = !wanted_ && sent_;
    if (!sent && !service::labels::ApplyChanges(node, Wanted().labels, Wanted().annotations)) {
      settled_ = true;
      if (!wanted_) parts_.events.removed();
      return;
    }
    // What is told while an apply is under way is from before it or from after it.
    if (!applying_.at_rest()) look_again_ = true;
    if (pause_->armed() || !applying_.at_rest()) return;
    if (!std::exchange(settled_, false)) return applying_.Start();
    // It was as it should be, and somebody made it something else.
    const net::Duration pause = kube::BackoffDelay(++lost_, parts_.random(), kContended);
    if (lost_ == 2)
      parts_.log.Warn(
          "somebody else writes our labels: they are written again, less and less often",
          {{LogKey::kError, base::Join(service::labels::Contenders(node, Wanted().labels), ", ")},
           {LogKey::kHint, "stop gpu-feature-discovery on this node, or set labels.backend"}});
    pause_->After(pause, [this] { applying_.Start(); });
  }

  void Apply(const kube::Retrying::Done& done) {
    kube::Client* client = parts_.cluster.client();
    if (client == nullptr || parts_.cluster.node().IsNull()) return done({});
    const bool nothing = !wanted_;
    if (!nothing) sent_ = true;
    client->Apply(parts_.cluster.NodePath(), std::string(service::labels::kFieldManager), true,
                  service::labels::ToNodeApply(Wanted().labels, Wanted().annotations,
                                               parts_.cluster.node_name()),
                  // The Node may have told of it first, and then this is over.
                  [self = self_, nothing, done](const base::Result<Value>& node) {
                    if (NodeLabels* labels = *self) labels->Answered(node, nothing, done);
                  });
  }

  void Answered(const base::Result<Value>& node, bool nothing, const kube::Retrying::Done& done) {
    if (!node.ok()) {
      failure_.Failed(node.error());
      parts_.events.problem(node.error().ToString());
      return done(node.error());
    }
    failure_.Succeeded();
    parts_.events.problem("");
    if (nothing) sent_ = false;
    done({});
    const bool look_again = std::exchange(look_again_, false);
    if (nothing && !wanted_) return parts_.events.removed();
    if (look_again) Check();
  }

  // For answers: null once nobody is left to take them.
  std::shared_ptr<NodeLabels*> self_ = std::make_shared<NodeLabels*>(this);
  LabelOutputParts parts_;
  base::RepeatedFailure failure_;
  std::optional<Rendering> wanted_;
  bool told_ = false;     // what is wanted
  bool settled_ = false;  // the Node was seen with it
  bool sent_ = false;     // labels, and since then not that there are none
  bool look_again_ = false;
  int lost_ = 0;  // how often it was lost again
  kube::Retrying applying_;
  std::unique_ptr<net::Timer> pause_;
  std::shared_ptr<void> subscription_;
};

}  // namespace

std::unique_ptr<LabelOutput> NewNodeLabels(LabelOutputParts parts) {
  return std::make_unique<NodeLabels>(std::move(parts));
}

}  // namespace partita::agent
