#include "oci/spec.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "base/text.h"
#include "base/text_edit.h"

namespace partita::oci {
namespace {

using base::Value;
using Kind = base::Value::Kind;

constexpr std::string_view kEnv = "process.env";
constexpr std::string_view kGids = "process.user.additionalGids";
constexpr std::string_view kDevices = "linux.devices";
constexpr std::string_view kRules = "linux.resources.devices";
constexpr std::string_view kNamespaces = "linux.namespaces";
constexpr std::string_view kNetDevices = "linux.netDevices";
constexpr std::string_view kRdt = "linux.intelRdt";

constexpr std::array<std::string_view, 9> kMaps = {
    "process",         "process.user",     "root",           "hooks",      "linux",
    "linux.resources", "linux.netDevices", "linux.intelRdt", "annotations"};

// Lists of maps.
constexpr std::array<std::string_view, 10> kMapLists = {
    "mounts",          "linux.devices",       "linux.resources.devices", "linux.namespaces",
    "hooks.prestart",  "hooks.createRuntime", "hooks.createContainer",   "hooks.startContainer",
    "hooks.poststart", "hooks.poststop"};

// Members of items that are asked for by name.
struct ItemText {
  std::string_view list, member;
};
constexpr std::array<ItemText, 7> kItemTexts = {{{"mounts", "destination"},
                                                 {"mounts", "source"},
                                                 {"mounts", "type"},
                                                 {"linux.devices", "path"},
                                                 {"linux.namespaces", "type"},
                                                 {"hooks.prestart", "path"},
                                                 {"hooks.createContainer", "path"}}};

base::Error WrongKind(std::string_view what, std::string_view wanted) {
  return base::MakeError(base::ErrorCode::kInvalid, "config.json: {} is no {}", what, wanted);
}

const Value* FindBelow(const Value& root, std::string_view path) {
  const Value* value = &root;
  for (const std::string_view part : base::Split(path, '.')) {
    value = value->Find(part);
    if (value == nullptr) return nullptr;
  }
  return value->IsNull() ? nullptr : value;
}

std::string TextOf(const Value& map, std::string_view member) {
  const Value* value = map.Find(member);
  return value != nullptr && value->kind() == Kind::kString ? value->AsString() : "";
}

std::string_view NameOf(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  return equals == std::string_view::npos ? std::string_view() : entry.substr(0, equals);
}

bool HasText(const Value& list, std::string_view text) {
  return list.kind() == Kind::kList &&
         std::any_of(list.items().begin(), list.items().end(), [&](const Value& item) {
           return item.kind() == Kind::kString && item.AsString() == text;
         });
}

// As they are written: a number that was read is of another kind than one of ours.
bool IsSame(const Value& a, const Value& b) { return base::ToJsonLine(a) == base::ToJsonLine(b); }

bool Allows(const Value& rule) {
  const Value* allow = rule.Find("allow");
  return allow != nullptr && allow->kind() == Kind::kBool && allow->AsBool();
}

base::Result<void> CheckMaps(const Value& root) {
  if (root.kind() != Kind::kMap) return WrongKind("the document", "JSON object");
  for (const std::string_view path : kMaps) {
    const Value* value = FindBelow(root, path);
    if (value != nullptr && value->kind() != Kind::kMap) return WrongKind(path, "map");
  }
  const Value* annotations = FindBelow(root, "annotations");
  if (annotations == nullptr) return {};
  for (const Value::Member& member : annotations->members()) {
    if (member.value.kind() != Kind::kString)
      return WrongKind("the annotation " + base::Quoted(member.key), "text");
  }
  return {};
}

base::Result<void> CheckScalars(const Value& root) {
  for (const std::string_view path : {"process.user.uid", "process.user.gid"}) {
    const Value* id = FindBelow(root, path);
    const bool good =
        id == nullptr || (id->kind() == Kind::kUnsigned &&
                          id->AsUnsigned() <= std::numeric_limits<std::uint32_t>::max());
    if (!good) return WrongKind(path, "number of a user or group");
  }
  const Value* root_path = FindBelow(root, "root.path");
  if (root_path != nullptr && root_path->kind() != Kind::kString)
    return WrongKind("root.path", "text");
  return {};
}

base::Result<void> CheckItem(std::string_view path, std::size_t number, const Value& item) {
  if (item.kind() != Kind::kMap) return WrongKind(fmt::format("{}[{}]", path, number), "map");
  for (const ItemText& row : kItemTexts) {
    const Value* member = row.list == path ? item.Find(row.member) : nullptr;
    if (member != nullptr && !member->IsNull() && member->kind() != Kind::kString)
      return WrongKind(fmt::format("{}[{}].{}", path, number, row.member), "text");
  }
  return {};
}

// A list as JSON: what stays as it was read.
std::string ListText(const std::vector<Element>& elements) {
  std::string text = "[";
  for (const Element& element : elements) {
    if (text.size() > 1) text += ',';
    text += element.raw.empty() ? base::ToJsonLine(element.value) : element.raw;
  }
  return text + ']';
}

using Path = std::vector<std::string_view>;

Value ListValue(const std::vector<Element>& elements) {
  Value list = Value::List();
  for (const Element& element : elements) list.Add(element.value);
  return list;
}

Value WithNested(Value map, std::span<const std::string_view> path, Value leaf) {
  const Value* old = map.Find(path.front());
  const std::string key(path.front());
  if (path.size() == 1) return map.Set(key, std::move(leaf));
  Value inner = old == nullptr ? Value::Map() : *old;
  return map.Set(key, WithNested(std::move(inner), path.subspan(1), std::move(leaf)));
}

// New values for members of a document, put into its text all at once: each edit of JsonText reads
// the whole text anew, and a container has several.
class Edits {
 public:
  explicit Edits(const config::JsonText& document) : document_(document) {}

  // `json` where the member is there, else `value` in the nearest map above it that is.
  void Put(const Path& path, std::string json, Value value) {
    if (const std::optional<config::JsonSpan> span = document_.Find(path)) {
      splices_.push_back({span->begin, span->end - span->begin, std::move(json)});
      return;
    }
    for (std::size_t depth = path.size(); depth-- > 0;) {
      const std::span<const std::string_view> above(path.data(), depth);
      const std::optional<config::JsonSpan> span = document_.Find(above);
      if (!span) continue;
      Value& added = added_.try_emplace(span->begin, *span, Value::Map()).first->second.second;
      added = WithNested(std::move(added), std::span(path).subspan(depth), std::move(value));
      return;
    }
  }

  [[nodiscard]] std::string Text() && {
    for (const auto& [begin, addition] : added_) Insert(addition.first, addition.second);
    return base::Apply(document_.text(), std::move(splices_));
  }

 private:
  // Behind the last member. What the kinds of parents let through is a map or null.
  void Insert(config::JsonSpan span, const Value& members) {
    const std::string json = base::ToJsonLine(members);
    const std::string& text = document_.text();
    if (text[span.begin] != '{') {
      splices_.push_back({span.begin, span.end - span.begin, json});
      return;
    }
    const std::size_t last = text.find_last_not_of(" \t\r\n", span.end - 2);
    const std::string inner = json.substr(1, json.size() - 2);
    splices_.push_back({last + 1, 0, last == span.begin ? inner : ',' + inner});
  }

  const config::JsonText& document_;
  std::vector<base::Splice> splices_;
  std::map<std::size_t, std::pair<config::JsonSpan, Value>> added_;  // by where the map begins
};

}  // namespace

base::Result<Spec> Spec::Parse(std::string text) {
  TRY(document, config::JsonText::Parse(std::move(text)), "config.json");
  TRY_VOID(CheckMaps(document.value()));
  TRY_VOID(CheckScalars(document.value()));
  Spec spec(std::move(document));
  TRY_VOID(spec.ReadLists());
  TRY_VOID(spec.ReadEnv());
  return spec;
}

base::Result<void> Spec::ReadLists() {
  std::vector<std::string_view> paths(kMapLists.begin(), kMapLists.end());
  paths.push_back(kGids);
  paths.push_back(kEnv);
  for (const std::string_view path : paths) {
    std::vector<Element>& list = lists_[std::string(path)];
    const Value* value = Find(path);
    if (value == nullptr) continue;
    if (value->kind() != Kind::kList) return WrongKind(path, "list");
    const std::vector<std::string_view> parts = base::Split(path, '.');
    const std::vector<config::JsonSpan> spans = document_.Items(parts);
    PARTITA_CHECK(spans.size() == value->items().size());
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const Value& item = value->items()[i];
      if (path != kGids && path != kEnv) TRY_VOID(CheckItem(path, i, item));
      list.push_back(
          {document_.text().substr(spans[i].begin, spans[i].end - spans[i].begin), item});
    }
  }
  return {};
}

base::Result<void> Spec::ReadEnv() {
  const std::vector<Element>& entries = List(kEnv);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].value.kind() != Kind::kString)
      return WrongKind(fmt::format("{}[{}]", kEnv, i), "text");
    env_.push_back(entries[i].value.AsString());
  }
  const std::vector<Element>& gids = List(kGids);
  for (std::size_t i = 0; i < gids.size(); ++i) {
    if (gids[i].value.kind() != Kind::kUnsigned)
      return WrongKind(fmt::format("{}[{}]", kGids, i), "number of a group");
  }
  return {};
}

const Value* Spec::Find(std::string_view path) const { return FindBelow(document_.value(), path); }

const std::vector<Element>& Spec::List(std::string_view path) const {
  const auto found = lists_.find(path);
  PARTITA_CHECK(found != lists_.end());
  return found->second;
}

std::vector<Element>& Spec::Edit(std::string_view path) {
  const auto found = lists_.find(path);
  PARTITA_CHECK(found != lists_.end());
  edited_.emplace(path);
  return found->second;
}

std::string Spec::Text() const {
  if (!edited()) return document_.text();
  Edits edits(document_);
  for (const std::string& path : edited_) {
    if (path == kNetDevices) {
      for (const auto& [name, device] : net_devices_)
        edits.Put({"linux", "netDevices", name}, base::ToJsonLine(device), device);
    } else if (path == kRdt) {
      edits.Put(base::Split(path, '.'), base::ToJsonLine(*rdt_), *rdt_);
    } else {
      edits.Put(base::Split(path, '.'), ListText(List(path)), ListValue(List(path)));
    }
  }
  return std::move(edits).Text();
}

std::optional<std::string> Spec::Env(std::string_view name) const {
  for (auto entry = env_.rbegin(); entry != env_.rend(); ++entry) {
    if (!name.empty() && NameOf(*entry) == name) return entry->substr(name.size() + 1);
  }
  return std::nullopt;
}

void Spec::SetEnv(std::string_view name, std::string_view value) {
  const std::string entry = fmt::format("{}={}", name, value);
  bool found = false;
  for (std::size_t i = 0; i < env_.size(); ++i) {
    if (NameOf(env_[i]) != name) continue;
    found = true;
    if (env_[i] == entry) continue;
    env_[i] = entry;
    Edit(kEnv)[i] = {"", entry};
  }
  if (found) return;
  env_.push_back(entry);
  Edit(kEnv).push_back({"", entry});
}

std::string Spec::root_path() const {
  const Value* path = Find("root.path");
  return path == nullptr ? "" : path->AsString();
}

std::vector<std::pair<std::string, std::string>> Spec::annotations() const {
  std::vector<std::pair<std::string, std::string>> annotations;
  const Value* map = Find("annotations");
  if (map == nullptr) return annotations;
  for (const Value::Member& member : map->members())
    annotations.emplace_back(member.key, member.value.AsString());
  std::sort(annotations.begin(), annotations.end());
  return annotations;
}

void Spec::SetMounts(std::vector<Element> mounts) { Edit(kMounts) = std::move(mounts); }

void Spec::PutDevice(const Value& device) {
  std::vector<Element>& devices = Edit(kDevices);
  const std::string path = TextOf(device, "path");
  devices.erase(
      std::remove_if(devices.begin(), devices.end(),
                     [&](const Element& each) { return TextOf(each.value, "path") == path; }),
      devices.end());
  devices.push_back({"", device});
}

void Spec::AllowDevice(char type, std::int64_t major, std::int64_t minor, std::string_view access) {
  if (access.empty()) return;
  const Value rule = Value::Map()
                         .Set("allow", true)
                         .Set("type", std::string(1, type))
                         .Set("major", major)
                         .Set("minor", minor)
                         .Set("access", access);
  const std::vector<Element>& rules = List(kRules);
  for (auto each = rules.rbegin(); each != rules.rend() && Allows(each->value); ++each) {
    if (IsSame(each->value, rule)) return;
  }
  Edit(kRules).push_back({"", rule});
}

void Spec::SetNetDevice(const std::string& host_name, const Value& device) {
  edited_.emplace(kNetDevices);
  net_devices_.insert_or_assign(host_name, device);
}

void Spec::SetIntelRdt(const Value& rdt) {
  edited_.emplace(kRdt);
  rdt_ = rdt;
}

void Spec::AddGid(std::uint32_t gid) {
  const std::vector<Element>& gids = List(kGids);
  const bool there = std::any_of(gids.begin(), gids.end(), [&](const Element& each) {
    return each.value.kind() == Kind::kUnsigned && each.value.AsUnsigned() == gid;
  });
  if (gid != 0 && !there) Edit(kGids).push_back({"", gid});
}

bool Spec::IsHookList(std::string_view list) {
  return std::find(kMapLists.begin(), kMapLists.end(), fmt::format("hooks.{}", list)) !=
         kMapLists.end();
}

const std::vector<Element>& Spec::hooks(std::string_view list) const {
  return List(fmt::format("hooks.{}", list));
}

void Spec::AddHook(std::string_view list, const Value& hook) {
  const auto hooks = lists_.find(fmt::format("hooks.{}", list));
  PARTITA_CHECK(hooks != lists_.end());
  for (Element& each : hooks->second) {
    if (each.raw.empty() || each.asked || !IsSame(each.value, hook)) continue;
    each.asked = true;
    return;
  }
  Edit(hooks->first).push_back({"", hook});
}

void Spec::ReplaceHooks(std::string_view list, std::size_t from, std::span<const Value> hooks) {
  std::vector<Element>& all = Edit(fmt::format("hooks.{}", list));
  PARTITA_CHECK(from <= all.size());
  all.resize(from);
  for (const Value& hook : hooks) AddHook(list, hook);
}

bool Spec::RemoveHooks(std::string_view list, const std::function<bool(const Value&)>& is_meant) {
  const std::string path = fmt::format("hooks.{}", list);
  const auto meant = [&](const Element& each) { return is_meant(each.value); };
  if (std::none_of(List(path).begin(), List(path).end(), meant)) return false;
  std::vector<Element>& hooks = Edit(path);
  hooks.erase(std::remove_if(hooks.begin(), hooks.end(), meant), hooks.end());
  return true;
}

bool Spec::has_user_namespace() const {
  const std::vector<Element>& namespaces = List(kNamespaces);
  return std::any_of(namespaces.begin(), namespaces.end(),
                     [](const Element& each) { return TextOf(each.value, "type") == "user"; });
}

std::uint32_t Spec::Id(std::string_view path) const {
  const Value* id = Find(path);
  return id == nullptr ? 0 : static_cast<std::uint32_t>(id->AsUnsigned());
}

std::uint32_t Spec::uid() const { return Id("process.user.uid"); }
std::uint32_t Spec::gid() const { return Id("process.user.gid"); }

bool Spec::privileged() const {
  constexpr std::string_view kAdmin = "CAP_SYS_ADMIN";
  const Value* all = Find("process.capabilities");
  if (all == nullptr) return false;
  const Value* bounding = all->Find("bounding");
  return HasText(*all, kAdmin) || (bounding != nullptr && HasText(*bounding, kAdmin));
}

}  // namespace partita::oci
