#include "service/explain/selection.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::service::explain {
namespace {

using config::LabelOperator;
using config::LabelRule;

struct NameChange {
  std::string_view before, now;
};
// Names of talks and early versions, which no feature discovery of today sets.
constexpr std::array kGone = {
    NameChange{"nvidia.com/cuda.driver", "nvidia.com/cuda.driver-version.full"},
    NameChange{"nvidia.com/cuda.runtime", "nvidia.com/cuda.runtime-version.full"},
};
// Names that are still set beside newer ones.
constexpr std::array kOlder = {
    NameChange{"nvidia.com/cuda.driver.major", "nvidia.com/cuda.driver-version.major"},
    NameChange{"nvidia.com/cuda.driver.minor", "nvidia.com/cuda.driver-version.minor"},
    NameChange{"nvidia.com/cuda.driver.rev", "nvidia.com/cuda.driver-version.revision"},
    NameChange{"nvidia.com/cuda.runtime.major", "nvidia.com/cuda.runtime-version.major"},
    NameChange{"nvidia.com/cuda.runtime.minor", "nvidia.com/cuda.runtime-version.minor"},
};

template <typename Table>
std::optional<std::string> Newer(const Table& table, std::string_view key) {
  for (const NameChange& row : table)
    if (row.before == key) return std::string(row.now);
  return std::nullopt;
}

// Those that are made of what the node has. The operator's and the configuration's are not.
bool IsOurs(std::string_view key) {
  if (key.starts_with("nvidia.com/gpu.deploy.") || key.starts_with("nvidia.com/mig.config") ||
      key == "nvidia.com/gfd.timestamp")
    return false;
  for (const std::string_view prefix :
       {"nvidia.com/gpu.", "nvidia.com/mig.", "nvidia.com/mig-", "nvidia.com/mps.",
        "nvidia.com/cuda.", "nvidia.com/vgpu.", "partita.dev/"})
    if (key.starts_with(prefix)) return true;
  return false;
}

// What a model does not tell: they come with a machine and its driver.
bool IsOfMachine(std::string_view key) {
  return key.starts_with("nvidia.com/cuda.") || key.starts_with("nvidia.com/vgpu.") ||
         key == "nvidia.com/gpu.machine" || key == "nvidia.com/gpu.clique";
}

bool Holds(const LabelRule& rule, const std::string* value) {
  const auto number = [](const std::string& text) { return base::ParseInteger(text); };
  switch (rule.op) {
    case LabelOperator::kIn:
      return value != nullptr &&
             std::find(rule.values.begin(), rule.values.end(), *value) != rule.values.end();
    case LabelOperator::kNotIn:
      return value == nullptr ||
             std::find(rule.values.begin(), rule.values.end(), *value) == rule.values.end();
    case LabelOperator::kExists: return value != nullptr;
    case LabelOperator::kDoesNotExist: return value == nullptr;
    case LabelOperator::kGt:
    case LabelOperator::kLt: {
      if (value == nullptr || rule.values.size() != 1) return false;
      const auto here = number(*value);
      const auto there = number(rule.values.front());
      if (!here || !there) return false;
      return rule.op == LabelOperator::kGt ? *here > *there : *here < *there;
    }
  }
  return false;
}

std::string Wish(const LabelRule& rule) {
  switch (rule.op) {
    case LabelOperator::kIn:
      return fmt::format("{} to be {}", rule.key, base::JoinWithOr(rule.values));
    case LabelOperator::kNotIn:
      return fmt::format("{} not to be {}", rule.key, base::JoinWithOr(rule.values));
    case LabelOperator::kExists: return fmt::format("a label {}", rule.key);
    case LabelOperator::kDoesNotExist: return fmt::format("no label {}", rule.key);
    case LabelOperator::kGt:
      return fmt::format("{} above {}", rule.key, base::JoinWithOr(rule.values));
    case LabelOperator::kLt:
      return fmt::format("{} below {}", rule.key, base::JoinWithOr(rule.values));
  }
  return rule.key;
}

class Check {
 public:
  Check(const NodeView& node, PodAnswer& answer) : node_(node), answer_(answer) {}

  // Nothing: it is so, or others know. The reason is without its place.
  std::optional<Reason> Try(const LabelRule& rule) {
    const auto label = node_.labels.find(rule.key);
    const std::string* value = label == node_.labels.end() ? nullptr : &label->second;
    const std::optional<std::string> instead = Newer(kGone, rule.key);
    if (value == nullptr && !instead && (!IsOurs(rule.key) || NotOfModel(rule.key))) {
      Note(fmt::format("it wants {}: that is not known here", Wish(rule)));
      return std::nullopt;
    }
    if (Holds(rule, value)) {
      if (const auto newer = Newer(kOlder, rule.key))
        Note(fmt::format("{} is an older name of {}", rule.key, *newer));
      return std::nullopt;
    }
    Reason reason;
    reason.code = "Label";
    reason.place = rule.place;
    reason.text = fmt::format("it wants {}; {}", Wish(rule),
                              value != nullptr ? fmt::format("here it is {}", Shown(*value))
                                               : "this node has no such label");
    reason.change = Change(rule, value, instead);
    return reason;
  }

 private:
  [[nodiscard]] bool NotOfModel(std::string_view key) const {
    return node_.model && IsOfMachine(key);
  }

  static std::string Shown(const std::string& value) { return value.empty() ? "\"\"" : value; }

  std::string Change(const LabelRule& rule,
                     const std::string* value,
                     const std::optional<std::string>& instead) const {
    if (instead) {
      const auto now = node_.labels.find(*instead);
      return now == node_.labels.end()
                 ? fmt::format("write {}, which replaced it", *instead)
                 : fmt::format("write {}, which replaced it; here it is {}", *instead, now->second);
    }
    if (value != nullptr && rule.op == LabelOperator::kIn && rule.values.size() == 1 &&
        *value == "NVIDIA-" + rule.values.front())
      return fmt::format("write {}: drivers of today say NVIDIA in front", *value);
    if (value != nullptr && rule.op == LabelOperator::kIn)
      return fmt::format("choose another node, or write {}", Shown(*value));
    return "choose another node";
  }

  void Note(std::string text) {
    if (std::find(answer_.notes.begin(), answer_.notes.end(), text) == answer_.notes.end())
      answer_.notes.push_back(std::move(text));
  }

  const NodeView& node_;
  PodAnswer& answer_;
};

// As Kubernetes compares them (k8s.io/api/core/v1, ToleratesTaint).
bool Tolerates(const config::Toleration& toleration, const labels::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  return toleration.exists || toleration.value == taint.value;
}

}  // namespace

void CheckLabels(const config::PodManifest& pod, const NodeView& node, PodAnswer& answer) {
  Check check(node, answer);
  for (const LabelRule& rule : pod.selector)
    if (auto reason = check.Try(rule)) answer.reasons.push_back(*std::move(reason));
  // Of the terms of an affinity one must be met.
  std::vector<Reason> failed;
  for (const config::AffinityTerm& term : pod.affinity) {
    const std::size_t before = failed.size();
    for (const LabelRule& rule : term.rules)
      if (auto reason = check.Try(rule)) failed.push_back(*std::move(reason));
    if (term.rules.empty())
      failed.push_back({"Label", "a nodeSelectorTerm without rules is met by no node",
                        "write what the node's labels must be, or leave the term out", "",
                        term.place});
    if (failed.size() == before) return;
  }
  answer.reasons.insert(answer.reasons.end(), failed.begin(), failed.end());
}

void CheckTaint(const config::PodManifest& pod, const NodeView& node, PodAnswer& answer) {
  // Whoever names the node passes by the scheduler, and only taints of NoExecute drive pods out.
  if (!node.taint || (pod.node_name && node.taint->effect != "NoExecute")) return;
  const labels::Taint& taint = *node.taint;
  if (std::any_of(
          pod.tolerations.begin(), pod.tolerations.end(),
          [&](const config::Toleration& toleration) { return Tolerates(toleration, taint); }))
    return;
  answer.reasons.push_back(
      {"Taint",
       fmt::format("it would not be scheduled: the node's taint {} is not tolerated",
                   labels::TaintWord(taint)),
       fmt::format("add to the pod's tolerations: {{key: {}, operator: Exists, effect: {}}}",
                   taint.key, taint.effect),
       "", pod.place});
}

}  // namespace partita::service::explain
