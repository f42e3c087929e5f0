#include "service/labels/node_feature.h"

#include <map>
#include <set>
#include <utility>

namespace partita::service::labels {
namespace {

using base::Value;

constexpr std::string_view kNodeLabel = "nfd.node.kubernetes.io/node-name";

const Value* PartOf(const Value& object, std::string_view part, std::string_view key) {
  const Value* map = object.Find(part);
  return map == nullptr ? nullptr : map->Find(key);
}

// In any order.
std::map<std::string, Value> EntriesOf(const Value* map) {
  std::map<std::string, Value> entries;
  if (map == nullptr || map->kind() != Value::Kind::kMap) return entries;
  for (const Value::Member& member : map->members()) entries.emplace(member.key, member.value);
  return entries;
}

Value MapOrNone(const Value* value) {
  return value != nullptr && value->kind() == Value::Kind::kMap ? *value : Value::Map();
}

std::set<std::string> OwnerUids(const Value& object) {
  std::set<std::string> uids;
  const Value* owners = PartOf(object, "metadata", "ownerReferences");
  if (owners == nullptr || owners->kind() != Value::Kind::kList) return uids;
  for (const Value& owner : owners->items())
    if (const Value* uid = owner.Find("uid"); uid != nullptr && uid->kind() == Value::Kind::kString)
      uids.insert(uid->AsString());
  return uids;
}

}  // namespace

std::string NodeFeatureName(const std::string& node) { return "nvidia-features-for-" + node; }

std::string NodeFeatureFolder(const std::string& name_space) {
  return "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/" + name_space + "/nodefeatures";
}

bool NodeFeatureDiffers(const Value& there, const Value& wanted) {
  if (there.IsNull()) return true;
  if (EntriesOf(PartOf(there, "spec", "labels")) != EntriesOf(PartOf(wanted, "spec", "labels")))
    return true;
  const auto labels = EntriesOf(PartOf(there, "metadata", "labels"));
  const auto node = labels.find(std::string(kNodeLabel));
  if (node == labels.end() ||
      node->second != *PartOf(wanted, "metadata", "labels")->Find(kNodeLabel))
    return true;
  const std::set<std::string> owners = OwnerUids(wanted);
  return !owners.empty() && owners != OwnerUids(there);
}

Value OverNodeFeature(const Value& there, const Value& wanted) {
  Value object = MapOrNone(&there);
  Value metadata = MapOrNone(there.Find("metadata"));
  Value changed = MapOrNone(metadata.Find("labels"));
  changed.Set(std::string(kNodeLabel), *PartOf(wanted, "metadata", "labels")->Find(kNodeLabel));
  metadata.Set("labels", std::move(changed));
  if (const Value* owners = PartOf(wanted, "metadata", "ownerReferences"))
    metadata.Set("ownerReferences", *owners);
  object.Set("metadata", std::move(metadata));
  object.Set("spec", *wanted.Find("spec"));
  return object;
}

}  // namespace partita::service::labels
