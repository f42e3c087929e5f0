#include "service/labels/node_state.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "service/labels/outputs.h"

namespace partita::service::labels {
namespace {

using base::Value;

const Value* Below(const Value& value, std::initializer_list<std::string_view> keys) {
  const Value* at = &value;
  for (const std::string_view key : keys)
    if (at != nullptr) at = at->Find(key);
  return at;
}

const std::vector<Value::Member>& MembersOf(const Value* map) {
  static const std::vector<Value::Member> none;
  return map != nullptr && map->kind() == Value::Kind::kMap ? map->members() : none;
}

bool IsText(const Value* value, std::string_view text) {
  return value != nullptr && value->kind() == Value::Kind::kString && value->AsString() == text;
}

// Each entry of managedFields that is of the object itself, not of its status.
std::vector<const Value*> ManagedFields(const Value& object) {
  std::vector<const Value*> entries;
  const Value* list = Below(object, {"metadata", "managedFields"});
  if (list == nullptr || list->kind() != Value::Kind::kList) return entries;
  for (const Value& entry : list->items())
    if (entry.Find("subresource") == nullptr) entries.push_back(&entry);
  return entries;
}

// "f:KEY" of FieldsV1.
std::set<std::string> KeysOf(const Value& entry, std::string_view part) {
  std::set<std::string> keys;
  for (const Value::Member& member : MembersOf(Below(entry, {"fieldsV1", "f:metadata", part})))
    if (const auto key = base::WithoutPrefix(member.key, "f:")) keys.emplace(*key);
  return keys;
}

bool Says(const Value& node, std::string_view part, const Labels& wanted) {
  const Value* there = Below(node, {"metadata", part});
  for (const auto& [key, value] : wanted)
    if (there == nullptr || !IsText(there->Find(key), value)) return false;
  return true;
}

std::set<std::string> KeysOf(const Labels& labels) {
  std::set<std::string> keys;
  for (const auto& [key, unused] : labels) keys.insert(key);
  return keys;
}

}  // namespace

OwnedKeys OwnedBy(const Value& object, std::string_view manager) {
  OwnedKeys owned;
  for (const Value* entry : ManagedFields(object)) {
    if (!IsText(entry->Find("manager"), manager) || !IsText(entry->Find("operation"), "Apply"))
      continue;
    owned.labels.merge(KeysOf(*entry, "f:labels"));
    owned.annotations.merge(KeysOf(*entry, "f:annotations"));
  }
  return owned;
}

bool HasWrittenTaints(const Value& node, std::string_view manager) {
  const std::vector<const Value*> entries = ManagedFields(node);
  return std::any_of(entries.begin(), entries.end(), [&](const Value* entry) {
    return IsText(entry->Find("manager"), manager) &&
           Below(*entry, {"fieldsV1", "f:spec", "f:taints"}) != nullptr;
  });
}

bool ApplyChanges(const Value& node, const Labels& labels, const Labels& annotations) {
  return OwnedBy(node, kFieldManager) != OwnedKeys{KeysOf(labels), KeysOf(annotations)} ||
         !Says(node, "labels", labels) || !Says(node, "annotations", annotations);
}

std::vector<std::string> Contenders(const Value& node, const Labels& labels) {
  std::map<std::string, std::vector<std::string>> keys;
  for (const auto& [key, value] : labels) {
    const std::string* there = FindLabel(node, key);
    if (there != nullptr && *there == value) continue;
    std::string who;
    for (const Value* entry : ManagedFields(node)) {
      const Value* manager = entry->Find("manager");
      if (manager == nullptr || manager->kind() != Value::Kind::kString ||
          manager->AsString() == kFieldManager || !KeysOf(*entry, "f:labels").contains(key))
        continue;
      who = base::Quoted(manager->AsString());
    }
    keys[who.empty() ? "somebody" : who].push_back(key);
  }
  std::vector<std::string> contenders;
  contenders.reserve(keys.size());
  for (const auto& [who, all] : keys)
    contenders.push_back(fmt::format("{} ({})", who, base::Join(all, ", ")));
  return contenders;
}

const std::string* FindLabel(const Value& node, std::string_view key) {
  const Value* value = Below(node, {"metadata", "labels", key});
  return value != nullptr && value->kind() == Value::Kind::kString ? &value->AsString() : nullptr;
}

}  // namespace partita::service::labels
