#include "agent/cluster/taint_keeper.h"

#include <utility>

namespace partita::agent {

using base::Value;
using service::labels::Taint;

TaintKeeper::TaintKeeper(
    base::Log& log, Cluster& cluster, LabelMemory& memory, kube::Random random, net::Task changed)
    : log_(log),
      cluster_(cluster),
      memory_(memory),
      changed_(std::move(changed)),
      failure_(log, "taints are not written to the Node: it is tried again"),
      writing_(cluster.loop(),
               "taints-again",
               random,
               [this](const kube::Retrying::Done& done) { Write(done); }),
      contention_(cluster.loop(), "taints-contended", std::move(random)) {}

void TaintKeeper::Start() {
  running_ = true;
  subscription_ = cluster_.OnNode([this](const Value&) { Check(); });
  Check();
}

void TaintKeeper::Stop() {
  running_ = false;
  subscription_.reset();
  writing_.Stop();
  contention_.Anew();
}

void TaintKeeper::Set(std::optional<Taint> taint) {
  if (told_ && taint == wanted_) return;
  told_ = true;
  wanted_ = std::move(taint);
  contention_.Anew();
  // What is on its way may be something else than what was seen.
  if (running_ && writing_.under_way()) writing_.Start();
  Check();
}

void TaintKeeper::SetReady() {
  if (std::exchange(ready_, true)) return;
  contention_.Anew();
  Check();
}

service::labels::TaintsWish TaintKeeper::Wish() const {
  service::labels::TaintsWish wish{.ready = ready_};
  if (!told_) return wish;
  // Ours from before, under another configuration, goes first: one is remembered, not two.
  const std::optional<Taint>& noted = memory_.places().taint;
  if (noted && noted != wanted_)
    wish.remove = noted;
  else
    wish.add = wanted_;
  return wish;
}

void TaintKeeper::Check() {
  const Value& node = cluster_.node();
  // One that comes again has lost everything, and nobody took it.
  if (node.IsNull()) contention_.Anew();
  if (!running_ || node.IsNull()) return;
  // What is told while a request is under way is from before it or from after it.
  if (!writing_.at_rest()) {
    look_again_ = true;
    return;
  }
  if (service::labels::TaintsPatch(node, Wish())) {
    if (contention_.Lost([this] { writing_.Start(); }) == 2)
      log_.Warn("somebody else changes our taints: they are written again, less and less often",
                {{base::LogKey::kHint,
                  "find who does it in metadata.managedFields of the Node, or set taints.enabled: "
                  "false"}});
    return;
  }
  contention_.Settled();
  SetProblem("");
  LabelPlaces places = memory_.places();
  if (told_ && places.taint && places.taint != wanted_) {
    // It is gone.
    places.taint.reset();
    memory_.Note(places);
    contention_.Anew();
    Check();
  }
}

void TaintKeeper::Write(const kube::Retrying::Done& done) {
  look_again_ = false;
  const service::labels::TaintsWish wish = Wish();
  const std::optional<Value> patch = service::labels::TaintsPatch(cluster_.node(), wish);
  if (!patch || cluster_.client() == nullptr || cluster_.node().IsNull()) return done({});
  // One that somebody else put there is not ours to take away.
  if (wish.add && !service::labels::HasTaintLike(cluster_.node(), *wish.add)) {
    LabelPlaces places = memory_.places();
    places.taint = wish.add;
    memory_.Note(places);
  }
  cluster_.client()->Patch(cluster_.NodePath() + "?fieldManager=partita-labels",
                           kube::PatchKind::kMerge, *patch,
                           [this, done](const base::Result<Value>& node) {
                             if (node.ok()) {
                               failure_.Succeeded();
                               SetProblem("");
                               done({});
                               if (look_again_) Check();
                               return;
                             }
                             // Somebody changed the Node meanwhile: how it is now is on its way to
                             // us.
                             if (node.error().code() != base::ErrorCode::kConflict) {
                               failure_.Failed(node.error());
                               SetProblem(node.error().ToString());
                             }
                             done(node.error());
                           });
}

void TaintKeeper::SetProblem(const std::string& problem) {
  if (std::exchange(problem_, problem) == problem) return;
  // An answer may come after the end.
  if (running_ && changed_) changed_();
}

}  // namespace partita::agent
