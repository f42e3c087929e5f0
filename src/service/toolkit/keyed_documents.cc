#include "service/toolkit/keyed_documents.h"

#include <algorithm>
#include <utility>

namespace partita::service::toolkit {
namespace {

using base::Value;
using config::Node;

std::vector<std::string_view> Views(const KeyPath& path) { return {path.begin(), path.end()}; }

}  // namespace

const Value* JsonKeys::Find(const KeyPath& path) const {
  const Value* value = &json_.value();
  for (const std::string& part : path) {
    if (value != nullptr) value = value->Find(part);
  }
  return value;
}

std::optional<std::string> JsonKeys::Raw(const KeyPath& path) const {
  const std::optional<config::JsonSpan> span = json_.Find(Views(path));
  if (!span) return std::nullopt;
  return json_.text().substr(span->begin, span->end - span->begin);
}

std::string JsonKeys::Said(const KeyPath& path) const {
  const Value* value = Find(path);
  return value == nullptr ? "" : base::ToJson(*value);
}

bool JsonKeys::IsEmptyTable(const KeyPath& path) const {
  const Value* value = Find(path);
  return value != nullptr && value->kind() == Value::Kind::kMap && value->members().empty();
}

bool JsonKeys::HasOtherThan(const std::string& key) const {
  return std::any_of(json_.value().members().begin(), json_.value().members().end(),
                     [&](const auto& member) { return member.key != key; });
}

base::Result<void> JsonKeys::Put(const KeyPath& path, const std::string& raw) {
  return json_.SetRaw(Views(path), raw);
}

base::Result<void> JsonKeys::Remove(const KeyPath& path) { return json_.Remove(Views(path)); }

// No list of a JSON file gets an item of ours.
base::Result<bool> JsonKeys::RemoveItem(const KeyPath& /*path*/, const std::string& /*item*/) {
  return false;
}

const config::TomlStatement* TomlKeys::KeyAt(const KeyPath& path) const {
  for (const config::TomlStatement& each : toml_.toml().statements()) {
    if (!each.IsHeader() && !each.in_list && each.path == path) return &each;
  }
  return nullptr;
}

std::optional<std::string> TomlKeys::Raw(const KeyPath& path) const {
  const Node* node = toml_.Find(path);
  if (node == nullptr) return std::nullopt;
  const config::TomlStatement* key = KeyAt(path);
  if (key == nullptr) return config::TomlValue(*node);
  return toml_.text().substr(key->value.begin, key->value.end - key->value.begin);
}

std::string TomlKeys::Said(const KeyPath& path) const {
  const Node* node = toml_.Find(path);
  return node == nullptr ? "" : config::TomlValue(*node);
}

bool TomlKeys::IsEmptyTable(const KeyPath& path) const {
  const Node* node = toml_.Find(path);
  return node != nullptr && node->IsMap() && node->entries.empty();
}

bool TomlKeys::HasOtherThan(const std::string& key) const {
  return std::any_of(toml_.root().entries.begin(), toml_.root().entries.end(),
                     [&](const Node::Entry& entry) { return entry.key.text != key; });
}

base::Result<void> TomlKeys::Put(const KeyPath& path, const std::string& raw) {
  return toml_.Set(path, raw);
}

base::Result<void> TomlKeys::Remove(const KeyPath& path) { return toml_.Remove(path); }

base::Result<bool> TomlKeys::RemoveItem(const KeyPath& path, const std::string& item) {
  const Node* list = toml_.Find(path);
  const config::TomlStatement* key = KeyAt(path);
  if (list == nullptr || key == nullptr || list->items.size() != key->items.size()) return false;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    if (list->items[i].text != item) continue;
    const bool last = i + 1 == key->items.size();
    const std::size_t begin = last && i > 0 ? key->items[i - 1].end : key->items[i].begin;
    const std::size_t end = last ? key->items[i].end : key->items[i + 1].begin;
    std::string raw = toml_.text().substr(key->value.begin, key->value.end - key->value.begin);
    raw.erase(begin - key->value.begin, end - begin);
    TRY_VOID(toml_.Set(path, raw));
    return true;
  }
  return false;
}

}  // namespace partita::service::toolkit
