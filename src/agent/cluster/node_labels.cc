#include <memory>
#include <utility>

#include "agent/cluster/contention.h"
#include "agent/cluster/label_output.h"
#include "base/text.h"
#include "service/labels/node_state.h"
#include "service/labels/outputs.h"

namespace partita::agent {
namespace {

using base::LogKey;
using base::Value;
using service::labels::Rendering;

class NodeLabels final : public LabelOutput {
 public:
  explicit NodeLabels(LabelOutputParts parts)
      : parts_(std::move(parts)),
        failure_(parts_.log, "labels are not written to the Node: it is tried again"),
        applying_(parts_.cluster.loop(),
                  "labels-again",
                  parts_.random,
                  [this](const kube::Retrying::Done& done) { Apply(done); }),
        contention_(parts_.cluster.loop(), "labels-contended", parts_.random) {
    subscription_ = parts_.cluster.OnNode([this](const Value&) { Check(); });
  }
  NodeLabels(const NodeLabels&) = delete;
  NodeLabels& operator=(const NodeLabels&) = delete;
  ~NodeLabels() override { *self_ = nullptr; }

  void Set(std::optional<Rendering> wanted) override {
    wanted_ = std::move(wanted);
    told_ = true;
    contention_.Anew();
    // What is on its way may be something else than what was seen.
    if (applying_.under_way()) applying_.Start();
    Check();
  }

  void Refresh() override {
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
    if (node.IsNull()) contention_.Anew();
    if (!told_ || node.IsNull()) return;
    // What is told while an apply is under way is from before it or from after it.
    if (!applying_.at_rest()) {
      look_again_ = true;
      return;
    }
    // What was sent may be there without being seen.
    const bool sent = !wanted_ && sent_;
    if (!sent && !service::labels::ApplyChanges(node, Wanted().labels, Wanted().annotations)) {
      contention_.Settled();
      if (!wanted_) parts_.events.removed();
      return;
    }
    if (contention_.Lost([this] { applying_.Start(); }) == 2)
      parts_.log.Warn(
          "somebody else writes our labels: they are written again, less and less often",
          {{LogKey::kError, base::Join(service::labels::Contenders(node, Wanted().labels), ", ")},
           {LogKey::kHint, "stop gpu-feature-discovery on this node, or set labels.backend"}});
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
  bool told_ = false;  // what is wanted
  bool sent_ = false;  // labels, and since then not that there are none
  bool look_again_ = false;
  kube::Retrying applying_;
  Contention contention_;
  std::shared_ptr<void> subscription_;
};

}  // namespace

std::unique_ptr<LabelOutput> NewNodeLabels(LabelOutputParts parts) {
  return std::make_unique<NodeLabels>(std::move(parts));
}

}  // namespace partita::agent
