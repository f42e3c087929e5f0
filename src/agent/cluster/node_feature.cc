#include <memory>
#include <utility>

#include <fmt/format.h>

#include "agent/cluster/contention.h"
#include "agent/cluster/label_output.h"
#include "kube/watch_lines.h"
#include "service/labels/node_feature.h"

namespace partita::agent {
namespace {

using base::LogKey;
using base::Value;
using service::labels::Rendering;

class NodeFeature final : public LabelOutput {
 public:
  NodeFeature(LabelOutputParts parts, std::string name_space, std::string pod)
      : parts_(std::move(parts)),
        name_space_(std::move(name_space)),
        pod_(std::move(pod)),
        failure_(parts_.log, "the NodeFeature object is not written: it is tried again"),
        writing_(parts_.cluster.loop(),
                 "node-feature-again",
                 parts_.random,
                 [this](const kube::Retrying::Done& done) { Write(done); }),
        contention_(parts_.cluster.loop(), "node-feature-contended", parts_.random) {}
  NodeFeature(const NodeFeature&) = delete;
  NodeFeature& operator=(const NodeFeature&) = delete;
  ~NodeFeature() override { *self_ = nullptr; }

  void Set(std::optional<Rendering> wanted) override {
    wanted_ = std::move(wanted);
    contention_.Anew();
    if (parts_.cluster.client() == nullptr)
      return parts_.events.problem("there is no API server to take a NodeFeature object");
    if (!wanted_) {
      watching_.reset();
      return writing_.Start();
    }
    if (!watching_) return Watch();
    Check();
  }

  void Refresh() override { Check(); }

 private:
  [[nodiscard]] std::string Folder() const {
    return service::labels::NodeFeatureFolder(name_space_);
  }
  [[nodiscard]] std::string Path() const {
    return Folder() + "/" + service::labels::NodeFeatureName(parts_.cluster.node_name());
  }

  void Watch() {
    // What an earlier watch saw may be gone without this one being told.
    there_ = Value();
    synced_ = false;
    kube::WatchEvents events;
    events.seen = [this](const Value& object) { Told(object); };
    events.gone = [this](const kube::ObjectName&) { Told({}); };
    events.synced = [this] {
      synced_ = true;
      Check();
    };
    events.failed = [this](const base::Error& error) { Failed(error); };
    watching_ = parts_.cluster.client()->Watch(
        Folder(),
        kube::FieldSelector("metadata.name",
                            service::labels::NodeFeatureName(parts_.cluster.node_name())),
        std::move(events));
  }

  // What was answered may be told once more, later.
  void Told(const Value& object) {
    const auto version = [](const Value& of) { return kube::MetadataOf(of, "resourceVersion"); };
    if (version(object) != version(there_)) told_meanwhile_ = true;
    there_ = object;
    if (synced_) Check();
  }

  void Check() {
    if (!wanted_ || !synced_) return;
    // What is told while a request is under way is from before it or from after it.
    if (!writing_.at_rest()) {
      look_again_ = true;
      return;
    }
    if (owners_ && !service::labels::NodeFeatureDiffers(there_, Wanted())) {
      contention_.Settled();
      return Worked();
    }
    if (contention_.Lost([this] { writing_.Start(); }) == 2)
      parts_.log.Warn(
          "somebody else changes our NodeFeature object: it is written again, less and less often",
          {{LogKey::kHint, "stop gpu-feature-discovery on this node, or set labels.backend"}});
  }

  [[nodiscard]] Value Wanted() const {
    return service::labels::ToNodeFeature(wanted_->labels, parts_.cluster.node_name(), name_space_,
                                          owners_.value_or(std::vector<service::labels::Owner>{}));
  }

  void Write(const kube::Retrying::Done& done) {
    kube::Client* client = parts_.cluster.client();
    if (client == nullptr) return done({});
    if (!wanted_) return Remove(*client, done);
    if (!owners_) return FindOwners(*client, done);
    Value wanted = Wanted();
    if (!service::labels::NodeFeatureDiffers(there_, wanted)) return Ended({}, done);
    told_meanwhile_ = false;
    const auto answered = [self = self_, done](const base::Result<Value>& object) {
      if (NodeFeature* feature = *self) feature->Written(object, done);
    };
    if (there_.IsNull()) return client->Create(Folder(), std::move(wanted), answered);
    client->Update(Path(), service::labels::OverNodeFeature(there_, wanted), answered);
  }

  void Written(const base::Result<Value>& object, const kube::Retrying::Done& done) {
    // So it is, though nobody has told yet; unless what was told since is newer.
    if (object.ok() && !told_meanwhile_) there_ = *object;
    if (object.ok()) Worked();
    // Somebody else's change is on its way to us.
    else if (object.error().code() != base::ErrorCode::kConflict)
      Failed(object.error());
    Ended(object.ok() ? base::Result<void>() : object.error(), done);
  }

  void Ended(const base::Result<void>& how, const kube::Retrying::Done& done) {
    done(how);
    if (std::exchange(look_again_, false)) Check();
  }

  // Whose pod this is. That it may not be known takes nothing from the labels.
  void FindOwners(kube::Client& client, const kube::Retrying::Done& done) {
    if (pod_.empty()) {
      owners_.emplace();
      return Write(done);
    }
    client.Get(fmt::format("/api/v1/namespaces/{}/pods/{}", name_space_, pod_),
               [self = self_, done](const base::Result<Value>& pod) {
                 if (NodeFeature* feature = *self) feature->PodRead(pod, done);
               });
  }

  void PodRead(const base::Result<Value>& pod, const kube::Retrying::Done& done) {
    // An object without an owner outlives an uninstalled agent: not for a server that is away.
    if (!pod.ok() && (pod.error().code() == base::ErrorCode::kUnavailable ||
                      pod.error().code() == base::ErrorCode::kTimeout)) {
      Failed(pod.error());
      return done(pod.error());
    }
    if (!pod.ok())
      parts_.log.Warn("our pod is not read: the NodeFeature object has no owner",
                      base::ErrorFields(pod.error()));
    owners_ = pod.ok() ? service::labels::OwnersOf(*pod) : std::vector<service::labels::Owner>{};
    Write(done);
  }

  void Remove(kube::Client& client, const kube::Retrying::Done& done) {
    client.Delete(Path(), [self = self_, done](const base::Result<Value>& object) {
      if (NodeFeature* feature = *self) feature->Removed(object, done);
    });
  }

  void Removed(const base::Result<Value>& object, const kube::Retrying::Done& done) {
    const bool gone = object.ok() || object.error().code() == base::ErrorCode::kNotFound;
    const bool no_right = !gone && object.error().code() == base::ErrorCode::kDenied;
    // The roles of the chart are in our namespace: a right in another one never comes.
    const bool given_up = no_right && name_space_ != parts_.cluster.name_space();
    if (!gone && !given_up) {
      Failed(object.error());
      return done(object.error());
    }
    if (given_up) TellGivenUp(object.error());
    Worked();
    Ended({}, done);
    given_up ? parts_.events.given_up() : parts_.events.removed();
  }

  void TellGivenUp(const base::Error& error) {
    const std::string name = service::labels::NodeFeatureName(parts_.cluster.node_name());
    const std::string command =
        fmt::format("kubectl delete nodefeature {} --namespace={}", name, name_space_);
    parts_.log.Warn("our NodeFeature object of before stays: its namespace is no longer ours",
                    base::ErrorFields(base::Error(error).WithHint(command)));
  }

  void Worked() {
    failure_.Succeeded();
    parts_.events.problem("");
  }
  void Failed(const base::Error& error) {
    failure_.Failed(error);
    parts_.events.problem(error.ToString());
  }

  // For answers: null once nobody is left to take them.
  std::shared_ptr<NodeFeature*> self_ = std::make_shared<NodeFeature*>(this);
  LabelOutputParts parts_;
  std::string name_space_, pod_;
  base::RepeatedFailure failure_;
  std::optional<Rendering> wanted_;
  std::optional<std::vector<service::labels::Owner>> owners_;  // absent: not looked for
  Value there_;                                                // as it was last seen, or answered
  bool synced_ = false, look_again_ = false;
  bool told_meanwhile_ = false;  // something, since what is under way was sent
  kube::Retrying writing_;
  Contention contention_;
  std::unique_ptr<kube::Watching> watching_;
};

}  // namespace

std::unique_ptr<LabelOutput> NewNodeFeature(LabelOutputParts parts,
                                            const std::string& name_space,
                                            const std::string& pod) {
  return std::make_unique<NodeFeature>(std::move(parts), name_space, pod);
}

}  // namespace partita::agent
