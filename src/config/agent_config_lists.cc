#include "config/agent_config_lists.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/duration.h"
#include "model/profile_name.h"

namespace partita::config {
namespace {

// Those that exist have three digits; a driver's number for them is wider than any of them.
constexpr std::uint64_t kMaxXid = 65535;

const std::array<std::string, 6> kSelectKeys = {"index",   "uuid", "pci",
                                                "product", "numa", "profile"};
const std::array<std::string, 2> kRuleKeys = {"select", "via"};
const std::array<std::string, 2> kVia = {"device-plugin", "none"};
const std::array<std::string, 5> kPolicies = {"ignore", "event", "reset", "reboot", "replace"};
const std::array<std::string, 2> kXidKeys = {"policy", "clearAfter"};

Place PlaceOf(const Node& node, std::string_view file_name) {
  return {std::string(file_name), node.line, node.column};
}

// The values of a key of a selector, which may be one alone.
template <typename Read>
void ReadEach(const Node& select, std::string_view key, Problems& problems, Read read) {
  const Node* node = select.Find(key);
  if (node == nullptr) return;
  if (!node->IsList()) return read(*node);
  // Nothing in it would match every GPU, which nobody means who writes it.
  if (node->items.empty())
    problems.Add(*node, fmt::format("\"{}\" is empty", key), "leave the key out, or name one");
  for (const Node& item : node->items) read(item);
}

void AddTo(const Node& node, Problems& problems, const base::Error& error) {
  problems.Add(node, error.message(), error.hint());
}

void ReadUuid(const Node& node, Problems& problems, std::vector<model::GpuUuid>& uuids) {
  const std::optional<std::string> text = ReadString(node, problems);
  if (!text) return;
  if (text->starts_with("GPU-"))
    uuids.emplace_back(*text);
  else
    problems.Add(node, fmt::format("{} is no UUID of a GPU", base::Quoted(*text)),
                 "it begins with GPU-: nvidia-smi -L shows them");
}

void ReadPci(const Node& node, Problems& problems, std::vector<model::PciAddress>& addresses) {
  const std::optional<std::string> text = ReadString(node, problems);
  if (!text) return;
  const base::Result<model::PciAddress> address = model::PciAddress::Parse(*text);
  if (address.ok())
    addresses.push_back(*address);
  else
    AddTo(node, problems, address.error());
}

void ReadProfileName(const Node& node, Problems& problems, std::vector<std::string>& profiles) {
  const std::optional<std::string> text = ReadString(node, problems);
  if (!text) return;
  const base::Result<model::ProfileName> name = model::ProfileName::Parse(*text);
  if (name.ok())
    profiles.push_back(name->ToString());
  else
    AddTo(node, problems, name.error());
}

void ReadProductName(const Node& node, Problems& problems, std::vector<std::string>& products) {
  const std::optional<std::string> text = ReadString(node, problems);
  if (!text) return;
  if (base::Trim(*text).empty())
    problems.Add(node, "an empty name of a product", "as H200 or \"NVIDIA H200\"");
  else
    products.emplace_back(base::Trim(*text));
}

template <typename T, typename Number>
void ReadNumberAs(const Node& node, Problems& problems, std::vector<T>& numbers, Number make) {
  const auto value = ReadUnsigned(node, problems, {0, std::numeric_limits<std::int32_t>::max()});
  if (value) numbers.push_back(make(*value));
}

// "dra" and "vm" are words of the file that nothing serves so far.
void ReadVia(const Node& node, Problems& problems, OfferRule& rule) {
  const std::string_view word = node.IsScalar() ? std::string_view(node.text) : "";
  if (word == "dra" || word == "vm") {
    problems.Add(node,
                 fmt::format("\"{}\" comes with {}", word,
                             word == "dra" ? "dynamic resource allocation" : "virtual machines"),
                 "until then write device-plugin or none");
    return;
  }
  if (const std::optional<std::size_t> via = ReadChoice(node, problems, kVia))
    rule.offered = *via == 0;
}

std::optional<std::chrono::seconds> ReadClearAfter(const Node& node, Problems& problems) {
  const std::optional<std::string> text = ReadString(node, problems);
  if (!text) return std::nullopt;
  const std::optional<std::chrono::nanoseconds> time = ParseDuration(*text);
  if (time && *time >= std::chrono::seconds(1))
    return std::chrono::duration_cast<std::chrono::seconds>(*time);
  problems.Add(node, fmt::format("expected a duration of a second or more, not {}", Describe(node)),
               "with a unit, as 10m");
  return std::nullopt;
}

void ReadPolicy(const Node& node, Problems& problems, XidRule& rule) {
  if (const std::optional<std::size_t> policy = ReadChoice(node, problems, kPolicies))
    rule.policy = static_cast<XidPolicy>(*policy);
}

void ReadXidMap(const Node& node, Problems& problems, XidRule& rule) {
  RejectUnknownKeys(node, kXidKeys, problems);
  if (const Node* policy = Require(node, "policy", problems)) ReadPolicy(*policy, problems, rule);
  const Node* clear = node.Find("clearAfter");
  if (clear == nullptr || clear->IsNull()) return;
  rule.clear_after = ReadClearAfter(*clear, problems);
  if (rule.policy == XidPolicy::kIgnore)
    problems.Add(*clear, "\"clearAfter\" means nothing where the XID is ignored", "take it out");
}

}  // namespace

std::string_view ToString(XidPolicy policy) {
  return kPolicies.at(static_cast<std::size_t>(policy));
}

model::GpuSelect ReadGpuSelect(const Node& node, Problems& problems) {
  model::GpuSelect select;
  if (!ExpectMap(node, problems, "a selector of GPUs")) return select;
  RejectUnknownKeys(node, kSelectKeys, problems);
  ReadEach(node, "index", problems, [&](const Node& each) {
    ReadNumberAs(each, problems, select.index, [](std::uint64_t number) {
      return model::GpuIndex(static_cast<std::uint32_t>(number));
    });
  });
  ReadEach(node, "uuid", problems,
           [&](const Node& each) { ReadUuid(each, problems, select.uuid); });
  ReadEach(node, "pci", problems, [&](const Node& each) { ReadPci(each, problems, select.pci); });
  ReadEach(node, "product", problems,
           [&](const Node& each) { ReadProductName(each, problems, select.product); });
  ReadEach(node, "numa", problems, [&](const Node& each) {
    ReadNumberAs(each, problems, select.numa,
                 [](std::uint64_t number) { return static_cast<int>(number); });
  });
  ReadEach(node, "profile", problems,
           [&](const Node& each) { ReadProfileName(each, problems, select.profile); });
  return select;
}

std::vector<OfferRule> ReadOfferRules(const Node& node,
                                      std::string_view file_name,
                                      Problems& problems) {
  std::vector<OfferRule> rules;
  if (node.IsNull() || !ExpectList(node, problems, "a list of rules")) return rules;
  for (const Node& item : node.items) {
    if (!ExpectMap(item, problems, "a rule")) continue;
    OfferRule rule;
    rule.place = PlaceOf(item, file_name);
    RejectUnknownKeys(item, kRuleKeys, problems);
    if (const Node* select = Require(item, "select", problems))
      rule.select = ReadGpuSelect(*select, problems);
    if (const Node* via = Require(item, "via", problems)) ReadVia(*via, problems, rule);
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<XidRule> ReadXidRules(const Node& node,
                                  std::string_view file_name,
                                  Problems& problems) {
  std::vector<XidRule> rules;
  if (node.IsNull() || !ExpectMap(node, problems, "XIDs with their policies")) return rules;
  for (const Node::Entry& entry : node.entries) {
    const std::optional<std::uint64_t> xid = base::ParseUnsigned(entry.key.text);
    const auto same = [&](const XidRule& each) { return each.xid == xid; };
    if (!xid || *xid > kMaxXid)
      problems.Add(entry.key, fmt::format("{} is no XID", base::Quoted(entry.key.text)),
                   fmt::format("it is a number up to {}", kMaxXid));
    else if (std::any_of(rules.begin(), rules.end(), same))
      problems.Add(entry.key, fmt::format("XID {} is there twice", *xid));
    XidRule rule;
    rule.xid = xid.value_or(0);
    rule.place = PlaceOf(entry.key, file_name);
    if (entry.value.IsMap())
      ReadXidMap(entry.value, problems, rule);
    else
      ReadPolicy(entry.value, problems, rule);
    rules.push_back(std::move(rule));
  }
  std::sort(rules.begin(), rules.end(),
            [](const XidRule& a, const XidRule& b) { return a.xid < b.xid; });
  return rules;
}

base::Value OfferRuleDocument(const OfferRule& rule) {
  base::Value select = base::Value::Map();
  const auto add = [&](const char* key, const auto& values, auto text) {
    if (values.empty()) return;
    base::Value list = base::Value::List();
    for (const auto& value : values) list.Add(text(value));
    select.Set(key, std::move(list));
  };
  const auto same = [](const auto& value) { return base::Value(value); };
  const auto inner = [](const auto& value) { return base::Value(value.value()); };
  add("index", rule.select.index, inner);
  add("uuid", rule.select.uuid, inner);
  add("pci", rule.select.pci, [](const auto& value) { return base::Value(value.ToString()); });
  add("product", rule.select.product, same);
  add("numa", rule.select.numa, same);
  add("profile", rule.select.profile, same);
  return base::Value::Map()
      .Set("select", std::move(select))
      .Set("via", rule.offered ? kVia[0] : kVia[1]);
}

base::Value XidRuleDocument(const XidRule& rule) {
  if (!rule.clear_after) return ToString(rule.policy);
  return base::Value::Map()
      .Set("policy", ToString(rule.policy))
      .Set("clearAfter", fmt::format("{}s", rule.clear_after->count()));
}

}  // namespace partita::config
