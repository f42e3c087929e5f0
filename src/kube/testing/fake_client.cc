#include "kube/testing/fake_client.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kube/status.h"
#include "kube/watch_lines.h"

namespace partita::kube::testing {
namespace {

using base::ErrorCode;
using base::MakeError;
using base::Value;

bool IsMap(const Value& value) { return value.kind() == Value::Kind::kMap; }

Value Without(const Value& map, std::string_view key) {
  Value rest = Value::Map();
  for (const Value::Member& member : map.members())
    if (member.key != key) rest.Set(member.key, member.value);
  return rest;
}

// RFC 7396.
Value Merged(const Value& target, const Value& patch) {
  if (!IsMap(patch)) return patch;
  Value result = IsMap(target) ? target : Value::Map();
  for (const Value::Member& member : patch.members()) {
    if (member.value.IsNull()) {
      result = Without(result, member.key);
      continue;
    }
    const Value* old = result.Find(member.key);
    result.Set(member.key, Merged(old == nullptr ? Value() : *old, member.value));
  }
  return result;
}

// Kubernetes' own merge, as far as it is used: conditions are keyed by their type.
Value MergedByType(const Value& target, const Value& patch) {
  std::vector<Value> all =
      target.kind() == Value::Kind::kList ? target.items() : std::vector<Value>{};
  for (const Value& each : patch.items()) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Value& other) {
      return *other.Find("type") == *each.Find("type");
    });
    if (same == all.end())
      all.push_back(each);
    else
      *same = Merged(*same, each);
  }
  Value list = Value::List();
  for (Value& each : all) list.Add(std::move(each));
  return list;
}

Value StrategicallyMerged(const Value& target, const Value& patch) {
  Value result = Merged(target, patch);
  const Value* status = patch.Find("status");
  const Value* conditions = status == nullptr ? nullptr : status->Find("conditions");
  if (conditions == nullptr) return result;
  const Value* before = target.Find("status");
  const Value* old = before == nullptr ? nullptr : before->Find("conditions");
  Value merged = *result.Find("status");
  merged.Set("conditions", MergedByType(old == nullptr ? Value() : *old, *conditions));
  result.Set("status", std::move(merged));
  return result;
}

// "/api/v1/nodes/a/status?fieldManager=b" -> "/api/v1/nodes/a".
std::string ObjectPath(const std::string& path) {
  const std::string plain = path.substr(0, path.find('?'));
  return plain.ends_with("/status") ? plain.substr(0, plain.size() - 7) : plain;
}

base::Result<void> CheckVersion(const Value& before, const Value& sent, const std::string& path) {
  const std::string meant = MetadataOf(sent, "resourceVersion");
  if (meant.empty() || meant == MetadataOf(before, "resourceVersion")) return {};
  return MakeError(ErrorCode::kConflict,
                   "the API server answers 409: {} has been modified; read it again", path);
}

Value WithMetadata(Value object, const std::string& key, Value text) {
  const Value* metadata = object.Find("metadata");
  Value changed = metadata == nullptr ? Value::Map() : *metadata;
  changed.Set(key, std::move(text));
  object.Set("metadata", std::move(changed));
  return object;
}

std::string Escaped(std::string_view key) {
  std::string text;
  for (const char c : key) text += c == '/' ? "~1" : std::string(1, c);
  return text;
}

// Each leaf of an object, and what it is. What names the object belongs to nobody.
void Leaves(const Value& value, const std::string& path, std::map<std::string, Value>& leaves) {
  if (!IsMap(value) || value.members().empty()) {
    leaves.emplace(path, value);
    return;
  }
  for (const Value::Member& member : value.members()) {
    const std::string below = path + "/" + Escaped(member.key);
    if (below == "/apiVersion" || below == "/kind" || below == "/metadata/name" ||
        below == "/metadata/namespace" || below == "/metadata/resourceVersion" ||
        below == "/metadata/managedFields")
      continue;
    Leaves(member.value, below, leaves);
  }
}

Value Removed(const Value& value, const std::vector<std::string_view>& words, std::size_t at) {
  if (!IsMap(value)) return value;
  Value rest = Value::Map();
  for (const Value::Member& member : value.members()) {
    if (Escaped(member.key) != words[at]) {
      rest.Set(member.key, member.value);
    } else if (at + 1 < words.size()) {
      rest.Set(member.key, Removed(member.value, words, at + 1));
    }
  }
  return rest;
}

std::string Unescaped(std::string_view word) {
  std::string text(word);
  for (std::size_t at = 0; (at = text.find("~1", at)) != std::string::npos;)
    text.replace(at, 2, "/");
  return text;
}

// FieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}.
Value WithField(const Value& fields, const std::vector<std::string_view>& words, std::size_t at) {
  Value result = fields;
  if (at == words.size()) return result;
  const std::string key = "f:" + Unescaped(words[at]);
  const Value* below = fields.Find(key);
  result.Set(key, WithField(below == nullptr ? Value::Map() : *below, words, at + 1));
  return result;
}

// Of those who apply. The real server has others too.
Value ManagedFields(const std::map<std::string, std::set<std::string>>& owners) {
  Value list = Value::List();
  for (const auto& [manager, fields] : owners) {
    if (fields.empty()) continue;
    Value tree = Value::Map();
    for (const std::string& field : fields)
      tree = WithField(tree, base::Split(std::string_view(field).substr(1), '/'), 0);
    list.Add(Value::Map()
                 .Set("manager", manager)
                 .Set("operation", "Apply")
                 .Set("fieldsType", "FieldsV1")
                 .Set("fieldsV1", std::move(tree)));
  }
  return list;
}

// "/api/v1/nodes/a" -> "/api/v1/nodes".
std::string CollectionOf(std::string_view path) {
  return std::string(path.substr(0, path.rfind('/')));
}

// "fieldSelector=metadata.name%3DNAME", the one that is used.
bool Selected(const std::string& selector, const Value& object) {
  return selector.empty() || selector == FieldSelector("metadata.name", MetadataOf(object, "name"));
}

base::Error Absent(const std::string& path) {
  return MakeError(ErrorCode::kNotFound, "the API server answers 404: {} not found", path);
}

}  // namespace

struct FakeClient::Subscription {
  std::string path, selector;
  WatchEvents events;
  std::map<ObjectName, std::string> known;
  bool ended = false;
  bool behind = true;  // a list comes first
  bool listed = false;
};

class FakeClient::FakeWatching final : public Watching {
 public:
  explicit FakeWatching(std::shared_ptr<Subscription> subscription)
      : subscription_(std::move(subscription)) {}
  FakeWatching(const FakeWatching&) = delete;
  FakeWatching& operator=(const FakeWatching&) = delete;
  ~FakeWatching() override { subscription_->ended = true; }

 private:
  std::shared_ptr<Subscription> subscription_;
};

FakeClient::~FakeClient() { *alive_ = false; }

void FakeClient::Answered(const std::string& verb,
                          const std::string& path,
                          Answer answer,
                          std::function<base::Result<Value>()> work) {
  const std::string plain = path.substr(0, path.find('?'));
  const std::string counted = verb + " " + ResourceOf(plain);
  ++counts_[counted];
  asked_.push_back(verb + " " + plain);
  if (on_request_) on_request_(counted);
  loop_.Post([this, alive = alive_, answer = std::move(answer), work = std::move(work)] {
    if (!*alive) return;
    if (failing_) return answer(*failing_);
    if (!tells_first_) return answer(work());
    loop_.Post([alive, answer, done = work()] {
      if (*alive) answer(done);
    });
  });
}

const Value* FakeClient::At(std::string_view path) const {
  const auto found = objects_.find(path);
  return found == objects_.end() ? nullptr : &found->second.value;
}

base::Result<Value> FakeClient::Store(const std::string& path, Object object) {
  const Value* before = At(path);
  if (!object.owners.empty())
    object.value =
        WithMetadata(std::move(object.value), "managedFields", ManagedFields(object.owners));
  // What changes nothing makes no new version, as there.
  if (before != nullptr) {
    object.value = WithMetadata(std::move(object.value), "resourceVersion",
                                MetadataOf(*before, "resourceVersion"));
    if (object.value == *before) {
      objects_[path] = object;
      return object.value;
    }
  }
  object.value =
      WithMetadata(std::move(object.value), "resourceVersion", std::to_string(++version_));
  objects_[path] = object;
  Tell(path);
  return object.value;
}

void FakeClient::Get(std::string asked, Answer answer) {
  const std::string path = ObjectPath(asked);
  Answered("get", asked, std::move(answer), [this, path]() -> base::Result<Value> {
    const Value* object = At(path);
    if (object == nullptr) return Absent(path);
    return *object;
  });
}

void FakeClient::Create(std::string path, Value object, Answer answer) {
  Answered("create", path, std::move(answer), [this, path, object]() -> base::Result<Value> {
    const std::string own = path + "/" + MetadataOf(object, "name");
    if (At(own) != nullptr)
      return MakeError(ErrorCode::kConflict, "the API server answers 409: {} already exists", own);
    return Store(own, {object, {}});
  });
}

void FakeClient::Update(std::string path, Value object, Answer answer) {
  Answered("update", path, std::move(answer), [this, path, object]() -> base::Result<Value> {
    const Value* before = At(path);
    if (before == nullptr) return Absent(path);
    TRY_VOID(CheckVersion(*before, object, path));
    return Store(path, {object, objects_[path].owners});
  });
}

void FakeClient::Delete(std::string path, Answer answer) {
  Answered("delete", path, std::move(answer), [this, path]() -> base::Result<Value> {
    if (At(path) == nullptr) return Absent(path);
    Value object = *At(path);
    Remove(path);
    return object;
  });
}

void FakeClient::Patch(std::string asked, PatchKind kind, Value patch, Answer answer) {
  const std::string path = ObjectPath(asked);
  Answered("patch", asked, std::move(answer), [this, path, kind, patch]() -> base::Result<Value> {
    if (At(path) == nullptr) return Absent(path);
    TRY_VOID(CheckVersion(*At(path), patch, path));
    return Store(path, {kind == PatchKind::kMerge ? Merged(*At(path), patch)
                                                  : StrategicallyMerged(*At(path), patch),
                        objects_[path].owners});
  });
}

base::Result<Value> FakeClient::Applied(const std::string& path,
                                        const std::string& manager,
                                        bool force,
                                        const Value& object) {
  Object stored;
  if (At(path) != nullptr) stored = objects_[path];
  std::map<std::string, Value> wanted, there;
  Leaves(object, "", wanted);
  Leaves(stored.value, "", there);
  const auto differs = [&](const std::string& field) {
    const auto ours = wanted.find(field);
    return ours != wanted.end() && there[field] != ours->second;
  };
  Fields others;
  for (auto& [owner, fields] : stored.owners) {
    if (owner == manager) continue;
    const auto conflict = std::find_if(fields.begin(), fields.end(), differs);
    if (conflict != fields.end() && !force) {
      return MakeError(ErrorCode::kConflict, "the API server answers 409: conflict with \"{}\": {}",
                       owner, *conflict);
    }
    std::erase_if(fields, differs);
    others.insert(fields.begin(), fields.end());
  }
  Value result = IsMap(stored.value) ? stored.value : Value::Map();
  Fields& mine = stored.owners[manager];
  for (const std::string& field : mine) {
    if (!wanted.contains(field) && !others.contains(field))
      result = Removed(result, base::Split(std::string_view(field).substr(1), '/'), 0);
  }
  mine.clear();
  for (const auto& [field, unused] : wanted) mine.insert(field);
  stored.value = Merged(result, object);
  return Store(path, std::move(stored));
}

void FakeClient::Apply(
    std::string path, std::string field_manager, bool force, Value object, Answer answer) {
  Answered("patch", path, std::move(answer), [this, path, field_manager, force, object] {
    return Applied(path, field_manager, force, object);
  });
}

void FakeClient::Put(const std::string& path, Value object) {
  (void)Store(path, {std::move(object), {}});
}

void FakeClient::Remove(const std::string& path) {
  if (objects_.erase(path) == 0) return;
  ++version_;
  Tell(path);
}

void FakeClient::Tell(const std::string& path) {
  const std::string collection = CollectionOf(path);
  for (const auto& subscription : subscriptions_) {
    if (subscription->ended || subscription->path != collection) continue;
    // Nothing is told from within: a list that comes later tells whatever is then.
    loop_.Post([this, alive = alive_, subscription] {
      if (*alive && !subscription->ended && !subscription->behind) List(*subscription);
    });
  }
}

const base::Error* FakeClient::FailureOf(const Subscription& subscription) const {
  if (failing_) return &*failing_;
  const auto own = failing_watches_.find(subscription.path);
  return own == failing_watches_.end() ? nullptr : &own->second;
}

bool FakeClient::Serves(Subscription& subscription) const {
  if (const base::Error* failure = FailureOf(subscription)) {
    subscription.behind = true;
    if (subscription.events.failed) subscription.events.failed(base::Error(*failure));
    return false;
  }
  if (resumes_ && subscription.listed && std::exchange(subscription.behind, false) &&
      subscription.events.resumed)
    subscription.events.resumed();
  return !subscription.ended;
}

void FakeClient::List(Subscription& subscription) {
  if (!Serves(subscription)) return;
  const std::map<ObjectName, std::string> before = subscription.known;
  std::set<ObjectName> there;
  const auto objects = objects_;
  for (const auto& [path, object] : objects) {
    if (CollectionOf(path) != subscription.path || !Selected(subscription.selector, object.value))
      continue;
    const ObjectName name = NameOf(object.value);
    const std::string version = MetadataOf(object.value, "resourceVersion");
    there.insert(name);
    if (std::exchange(subscription.known[name], version) == version) continue;
    if (subscription.events.seen) subscription.events.seen(object.value);
    if (subscription.ended) return;
  }
  for (const auto& [name, unused] : before) {
    if (there.contains(name)) continue;
    subscription.known.erase(name);
    if (subscription.events.gone) subscription.events.gone(name);
    if (subscription.ended) return;
  }
  subscription.listed = true;
  if (std::exchange(subscription.behind, false) && subscription.events.synced)
    subscription.events.synced();
}

std::unique_ptr<Watching> FakeClient::Watch(std::string list_path,
                                            std::string selector,
                                            WatchEvents events) {
  ++counts_["list " + ResourceOf(list_path)];
  ++counts_["watch " + ResourceOf(list_path)];
  asked_.push_back("watch " + list_path);
  auto subscription = std::make_shared<Subscription>();
  subscription->path = std::move(list_path);
  subscription->selector = std::move(selector);
  subscription->events = std::move(events);
  subscriptions_.push_back(subscription);
  loop_.Post([this, alive = alive_, subscription] {
    if (*alive && !subscription->ended) List(*subscription);
  });
  return std::make_unique<FakeWatching>(subscription);
}

void FakeClient::Fail(std::optional<base::Error> error) {
  failing_ = std::move(error);
  TellFailures();
}

void FakeClient::FailWatch(const std::string& list_path, std::optional<base::Error> error) {
  failing_watches_.erase(list_path);
  if (error) failing_watches_.emplace(list_path, *std::move(error));
  TellFailures();
}

void FakeClient::TellFailures() {
  for (const auto& subscription : subscriptions_) {
    loop_.Post([this, alive = alive_, subscription] {
      if (*alive && !subscription->ended &&
          (FailureOf(*subscription) != nullptr || subscription->behind))
        List(*subscription);
    });
  }
}

}  // namespace partita::kube::testing
