#include "service/health/xid_table.h"

#include <array>
#include <map>
#include <utility>

#include "base/result.h"
#include "base/text.h"
#include "config/binders.h"
#include "config/document.h"
#include "config/problems.h"
#include "service/health/built_in.h"

namespace partita::service::health {
namespace {

using config::Node;

constexpr std::array kPolicies = {XidPolicy::kIgnore,      XidPolicy::kEventApplication,
                                  XidPolicy::kEventDevice, XidPolicy::kReset,
                                  XidPolicy::kReboot,      XidPolicy::kReplace};

std::vector<std::string> PolicyWords() {
  std::vector<std::string> words;
  words.reserve(kPolicies.size());
  for (const XidPolicy policy : kPolicies) words.emplace_back(ToString(policy));
  return words;
}

// "11 25 39-41"
std::vector<std::uint64_t> ReadCodes(const Node& node, config::Problems& problems) {
  std::vector<std::uint64_t> codes;
  for (const std::string_view word : base::SplitWords(node.text)) {
    const std::vector<std::string_view> ends = base::Split(word, '-');
    const auto first = base::ParseUnsigned(ends.front()), last = base::ParseUnsigned(ends.back());
    if (!first || !last || ends.size() > 2 || *last < *first || *last - *first > 100) {
      problems.Add(node, "not a list of XIDs");
      continue;
    }
    for (std::uint64_t code = *first; code <= *last; ++code) codes.push_back(code);
  }
  return codes;
}

std::optional<std::uint64_t> ReadOptional(const Node& map,
                                          std::string_view key,
                                          config::Problems& problems) {
  const Node* node = map.Find(key);
  return node == nullptr ? std::nullopt : config::ReadUnsigned(*node, problems);
}

XidRow ReadRow(const Node& map, const Node* sources, config::Problems& problems) {
  static const std::vector<std::string> keys = {"xids", "policy",    "means", "source",
                                                "idle", "contained", "often", "blocks"};
  static const std::vector<std::string> words = PolicyWords();
  config::RejectUnknownKeys(map, keys, problems);
  XidRow row;
  if (const Node* xids = config::Require(map, "xids", problems))
    row.xids = ReadCodes(*xids, problems);
  if (const Node* policy = config::Require(map, "policy", problems))
    row.policy = kPolicies.at(config::ReadChoice(*policy, problems, words).value_or(0));
  if (const Node* means = config::Require(map, "means", problems)) row.means = means->text;
  if (const Node* source = config::Require(map, "source", problems)) {
    row.source = source->text;
    if (sources == nullptr || sources->Find(row.source) == nullptr)
      problems.Add(*source, "no such source");
  }
  if (const Node* idle = map.Find("idle"))
    row.idle = config::ReadBool(*idle, problems).value_or(false);
  row.contained = ReadOptional(map, "contained", problems);
  row.often = ReadOptional(map, "often", problems);
  if (const Node* blocks = map.Find("blocks"))
    row.blocks = config::ReadBool(*blocks, problems).value_or(false);
  return row;
}

base::Result<std::vector<XidRow>> ReadTable(const BuiltInFile& file) {
  TRY(document, config::Document::Parse(std::string(file.text), std::string(file.path)));
  config::Problems problems(document);
  std::vector<XidRow> rows;
  if (const Node* list = config::Require(document.root(), "rows", problems)) {
    for (const Node& map : list->items)
      rows.push_back(ReadRow(map, document.root().Find("sources"), problems));
  }
  TRY_VOID(problems.ToResult());
  return rows;
}

}  // namespace

std::string_view ToString(XidPolicy policy) {
  switch (policy) {
    case XidPolicy::kIgnore: return "ignore";
    case XidPolicy::kEventApplication: return "event-application";
    case XidPolicy::kEventDevice: return "event-device";
    case XidPolicy::kReset: return "reset";
    case XidPolicy::kReboot: return "reboot";
    case XidPolicy::kReplace: return "replace";
  }
  return "";
}

const std::vector<XidRow>& XidTable() {
  static const std::vector<XidRow> table = ReadTable(BuiltInFiles().front()).value();
  return table;
}

const XidRow& RowOf(std::uint64_t xid) {
  static const std::map<std::uint64_t, const XidRow*> by_xid = [] {
    std::map<std::uint64_t, const XidRow*> index;
    for (const XidRow& row : XidTable())
      for (const std::uint64_t code : row.xids) index.emplace(code, &row);
    return index;
  }();
  static const XidRow unknown = {.xids = {},
                                 .policy = XidPolicy::kEventDevice,
                                 .means = "an error that is not in NVIDIA's catalogue",
                                 .source = "",
                                 .idle = false,
                                 .contained = std::nullopt,
                                 .often = std::nullopt,
                                 .blocks = false};
  const auto found = by_xid.find(xid);
  return found == by_xid.end() ? unknown : *found->second;
}

}  // namespace partita::service::health
