#include "config/manifest/pod_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/manifest/quantity.h"

namespace partita::config {
namespace {

// Of a pod, and often indented one step too far.
constexpr std::array<std::string_view, 9> kFieldsOfPods = {
    "affinity",     "containers",     "hostIPC",     "initContainers",   "nodeName",
    "nodeSelector", "resourceClaims", "tolerations", "runtimeClassName",
};

constexpr std::array<std::pair<std::string_view, LabelOperator>, 6> kOperators = {{
    {"In", LabelOperator::kIn},
    {"NotIn", LabelOperator::kNotIn},
    {"Exists", LabelOperator::kExists},
    {"DoesNotExist", LabelOperator::kDoesNotExist},
    {"Gt", LabelOperator::kGt},
    {"Lt", LabelOperator::kLt},
}};

constexpr std::array<std::string_view, 3> kTaintEffects = {"NoSchedule", "PreferNoSchedule",
                                                           "NoExecute"};

// The value of a key that is there and is not null.
const Node* Stated(const Node& map, std::string_view key) {
  const Node* node = map.Find(key);
  return node == nullptr || node->IsNull() ? nullptr : node;
}

bool IsPlainNumber(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with("0x") || text.starts_with("0o") || text.starts_with("0b"))
    return text.size() > 2;
  std::string digits;
  std::remove_copy(text.begin(), text.end(), std::back_inserter(digits), '_');
  if (digits.empty() || digits.find_first_of("0123456789") > 1) return false;
  if (digits.front() != '.' && (digits.front() < '0' || digits.front() > '9')) return false;
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size();
}

// What the YAML reader of Kubernetes makes a number or a truth of, where a text is needed.
bool IsText(const Node& node) {
  if (node.quoted) return true;
  static constexpr std::array<std::string_view, 6> kTruths = {"true", "false", "yes",
                                                              "no",   "on",    "off"};
  const std::string word = base::ToLower(node.text);
  return std::find(kTruths.begin(), kTruths.end(), word) == kTruths.end() &&
         !IsPlainNumber(node.text);
}

bool IsLetterOrDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsLabelValue(std::string_view text) {
  if (text.empty()) return true;
  return text.size() <= 63 && IsLetterOrDigit(text.front()) && IsLetterOrDigit(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLetterOrDigit(c) || c == '-' || c == '_' || c == '.'; });
}

// Resources that every container may name without a domain.
bool IsNative(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
         name.starts_with("hugepages-");
}

// "kubernetes.io/…" is Kubernetes' own, and so is what is below it.
bool IsExtended(std::string_view name) {
  const std::string_view domain = name.substr(0, name.find('/'));
  return domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io");
}

class SpecReader {
 public:
  SpecReader(Problems& problems, PodManifest& pod) : problems_(problems), pod_(pod) {}

  void Read(const Node& spec) {
    if (const Node* list = Stated(spec, "initContainers")) ReadContainers(*list, true);
    if (const Node* list = Require(spec, "containers", problems_)) {
      ReadContainers(*list, false);
      if (list->IsList() && list->items.empty())
        problems_.Add(*list, "there is no container in it", "a Pod has one at least");
    }
    if (const Node* selector = Stated(spec, "nodeSelector")) ReadSelector(*selector);
    if (const Node* affinity = Stated(spec, "affinity")) ReadAffinity(*affinity);
    if (const Node* list = Stated(spec, "tolerations")) ReadTolerations(*list);
    pod_.runtime_class = ReadText(spec, "runtimeClassName");
    pod_.node_name = ReadText(spec, "nodeName");
    if (const Node* claims = Stated(spec, "resourceClaims")) ReadClaims(*claims);
  }

 private:
  void AddFlaw(const Node& place, std::string message, std::string hint) {
    pod_.flaws.push_back({PositionOf(place), std::move(message), std::move(hint)});
  }

  std::optional<ManifestText> ReadText(const Node& map, std::string_view key) {
    const Node* node = Stated(map, key);
    if (node == nullptr) return std::nullopt;
    const std::optional<std::string> text = ReadString(*node, problems_);
    if (!text || text->empty()) return std::nullopt;
    return ManifestText{*text, PositionOf(*node)};
  }

  void ReadContainers(const Node& list, bool init) {
    if (!ExpectList(list, problems_, init ? "the init containers" : "the containers")) return;
    for (const Node& item : list.items) {
      if (!ExpectMap(item, problems_, "a container")) continue;
      ManifestContainer container;
      if (init) {
        const Node* policy = item.Find("restartPolicy");
        container.role = policy != nullptr && policy->text == "Always" ? ContainerRole::kSidecar
                                                                       : ContainerRole::kInit;
      }
      ReadContainer(item, container);
      pod_.containers.push_back(std::move(container));
    }
  }

  void ReadContainer(const Node& node, ManifestContainer& container) {
    if (const auto name = ReadText(node, "name")) {
      container.name = name->text;
    } else {
      container.name = fmt::format("{}", pod_.containers.size());
      AddFlaw(node, "a container without a name", "give it one");
    }
    // Controllers fill in an image here and there, the API server never does.
    if (Stated(node, "image") == nullptr && pod_.kind == "Pod")
      AddFlaw(node, "a container without an image", "name one");
    for (const Node::Entry& entry : node.entries) {
      if (std::find(kFieldsOfPods.begin(), kFieldsOfPods.end(), entry.key.text) ==
          kFieldsOfPods.end())
        continue;
      AddFlaw(entry.key,
              fmt::format("{} is a field of the pod, not of a container", entry.key.text),
              "write it beside containers");
      // Whoever wrote it meant the pod.
      if (entry.key.text == "nodeSelector") ReadSelector(entry.value);
      if (entry.key.text == "tolerations") ReadTolerations(entry.value);
    }
    if (const Node* resources = Stated(node, "resources")) ReadResources(*resources, container);
    if (const Node* variables = Stated(node, "env")) ReadVariables(*variables, container);
  }

  void ReadVariables(const Node& list, ManifestContainer& container) {
    if (!ExpectList(list, problems_, "variables")) return;
    for (const Node& item : list.items) {
      const Node* name = item.Find("name");
      const Node* value = item.Find("value");
      if (name == nullptr || value == nullptr || name->text != "NVIDIA_VISIBLE_DEVICES") continue;
      container.visible_devices = ManifestText{value->text, PositionOf(*value)};
    }
  }

  using Amounts = std::map<std::string, std::pair<Quantity, const Node*>, std::less<>>;

  void ReadResources(const Node& node, ManifestContainer& container) {
    if (!ExpectMap(node, problems_, "the resources of a container")) return;
    const Amounts limits = ReadAmounts(node, "limits");
    const Amounts requests = ReadAmounts(node, "requests");
    for (const auto& [name, request] : requests) {
      const auto limit = limits.find(name);
      if (limit == limits.end()) {
        AddFlaw(*request.second, fmt::format("a request of {} without a limit", name),
                fmt::format("write it under limits: requests follow"));
      } else if (limit->second.first != request.first) {
        AddFlaw(*request.second,
                fmt::format("the request of {} differs from its limit of {}", name,
                            limit->second.second->text),
                "devices are not overcommitted: both must be the same; leave the request out");
      }
    }
    const Amounts& counted = limits.empty() ? requests : limits;
    for (const auto& [name, amount] : counted)
      if (amount.first.count > 0)
        container.resources.push_back({name, amount.first.count, PositionOf(*amount.second)});
    std::sort(container.resources.begin(), container.resources.end(),
              [](const ResourceRequest& a, const ResourceRequest& b) {
                return std::pair(a.place.line, a.place.column) <
                       std::pair(b.place.line, b.place.column);
              });
  }

  // Extended resources alone; nobody but their plugins knows them.
  Amounts ReadAmounts(const Node& resources, std::string_view key) {
    Amounts amounts;
    const Node* map = Stated(resources, key);
    if (map == nullptr || !ExpectMap(*map, problems_, key)) return amounts;
    for (const Node::Entry& entry : map->entries) {
      const std::string& name = entry.key.text;
      if (IsNative(name)) continue;
      if (name.find('/') == std::string::npos) {
        AddFlaw(entry.key, fmt::format("{} is no resource", base::Quoted(name)),
                "devices have a domain in front: nvidia.com/gpu");
        continue;
      }
      if (!IsExtended(name)) continue;
      const std::optional<Quantity> amount =
          entry.value.IsScalar() ? ParseQuantity(entry.value.text) : std::nullopt;
      if (!amount) {
        AddFlaw(entry.value, fmt::format("{} is no amount of {}", Describe(entry.value), name),
                "write a whole number");
      } else if (!amount->whole) {
        AddFlaw(entry.value, fmt::format("{} of {} is no whole number", entry.value.text, name),
                "a part of a GPU is a MIG device (nvidia.com/mig-…) or a share of its own");
      } else {
        amounts.emplace(name, std::pair(*amount, &entry.value));
      }
    }
    return amounts;
  }

  // A label's value as it is compared, whether or not the API server would take it.
  std::string ReadLabelValue(const Node& node, const std::string& key) {
    if (!node.IsScalar()) {
      AddFlaw(node, fmt::format("the value of {} is {}, not a text", key, Describe(node)),
              "write a text");
      return "";
    }
    if (!IsText(node)) {
      AddFlaw(node, fmt::format("{} is no text to YAML, and labels are texts", node.text),
              fmt::format("write \"{}\"", node.text));
    } else if (!IsLabelValue(node.text)) {
      std::string dashed = node.text;
      std::replace(dashed.begin(), dashed.end(), ' ', '-');
      AddFlaw(node, fmt::format("{} is no value of a label", base::Quoted(node.text)),
              IsLabelValue(dashed) ? fmt::format("labels have dashes: {}", dashed)
                                   : "letters, digits, - _ and . are, up to 63");
    }
    return node.text;
  }

  void ReadSelector(const Node& map) {
    if (!ExpectMap(map, problems_, "the nodeSelector")) return;
    for (const Node::Entry& entry : map.entries)
      pod_.selector.push_back({entry.key.text,
                               LabelOperator::kIn,
                               {ReadLabelValue(entry.value, entry.key.text)},
                               PositionOf(entry.value)});
  }

  void ReadAffinity(const Node& affinity) {
    if (!ExpectMap(affinity, problems_, "the affinity")) return;
    const Node* nodes = Stated(affinity, "nodeAffinity");
    if (nodes == nullptr || !ExpectMap(*nodes, problems_, "the nodeAffinity")) return;
    const Node* required = Stated(*nodes, "requiredDuringSchedulingIgnoredDuringExecution");
    if (required == nullptr || !ExpectMap(*required, problems_, "what is required")) return;
    const Node* terms = Require(*required, "nodeSelectorTerms", problems_);
    if (terms == nullptr || !ExpectList(*terms, problems_, "the nodeSelectorTerms")) return;
    if (terms->items.empty())
      AddFlaw(*terms, "there is no nodeSelectorTerm in it", "write one, or leave the affinity out");
    for (const Node& term : terms->items) {
      if (!ExpectMap(term, problems_, "a nodeSelectorTerm")) continue;
      AffinityTerm read{{}, PositionOf(term)};
      const std::size_t flaws = pod_.flaws.size();
      for (const std::string_view key : {"matchExpressions", "matchFields"})
        if (const Node* list = Stated(term, key)) ReadRules(*list, read.rules);
      // One whose rules are refused has its reason.
      if (!read.rules.empty() || pod_.flaws.size() == flaws)
        pod_.affinity.push_back(std::move(read));
    }
  }

  void ReadRules(const Node& list, std::vector<LabelRule>& rules) {
    if (!ExpectList(list, problems_, "rules for labels")) return;
    for (const Node& item : list.items) {
      if (!ExpectMap(item, problems_, "a rule for a label")) continue;
      const Node* key = Require(item, "key", problems_);
      const Node* op = Require(item, "operator", problems_);
      if (key == nullptr || op == nullptr) continue;
      const auto known = std::find_if(kOperators.begin(), kOperators.end(),
                                      [&](const auto& row) { return row.first == op->text; });
      if (known == kOperators.end()) {
        AddFlaw(*op, fmt::format("{} is no operator", Describe(*op)),
                "use In, NotIn, Exists, DoesNotExist, Gt or Lt");
        continue;
      }
      LabelRule rule{key->text, known->second, {}, PositionOf(item)};
      if (const Node* values = Stated(item, "values");
          values != nullptr && ExpectList(*values, problems_, "the values"))
        for (const Node& value : values->items)
          rule.values.push_back(ReadLabelValue(value, rule.key));
      rules.push_back(std::move(rule));
    }
  }

  void ReadTolerations(const Node& list) {
    if (!ExpectList(list, problems_, "the tolerations")) return;
    for (const Node& item : list.items)
      if (ExpectMap(item, problems_, "a toleration")) ReadToleration(item);
  }

  void ReadToleration(const Node& item) {
    const auto text = [&](std::string_view key) {
      const std::optional<ManifestText> found = ReadText(item, key);
      return found ? found->text : std::string();
    };
    const std::string op = text("operator");
    const Toleration toleration{text("key"), op == "Exists", text("value"), text("effect"),
                                PositionOf(item)};
    if (!op.empty() && op != "Exists" && op != "Equal")
      return AddFlaw(*item.Find("operator"), fmt::format("{} is no operator", base::Quoted(op)),
                     "use Equal or Exists");
    if (const Node* value = Stated(item, "value"); value != nullptr && !IsText(*value))
      AddFlaw(*value,
              fmt::format("{} is no text to YAML, and values of taints are texts", value->text),
              fmt::format("write \"{}\"", value->text));
    if (toleration.exists && !toleration.value.empty())
      AddFlaw(*item.Find("value"), "operator Exists is for every value", "leave the value out");
    if (toleration.key.empty() && !toleration.exists)
      AddFlaw(item, "a toleration without a key is for every taint, with operator Exists alone",
              "name the key of the taint");
    if (!toleration.effect.empty() && std::find(kTaintEffects.begin(), kTaintEffects.end(),
                                                toleration.effect) == kTaintEffects.end())
      AddFlaw(*item.Find("effect"),
              fmt::format("{} is no effect of a taint", base::Quoted(toleration.effect)),
              "use NoSchedule, PreferNoSchedule or NoExecute, or leave it out");
    pod_.tolerations.push_back(toleration);
  }

  void ReadClaims(const Node& list) {
    if (!ExpectList(list, problems_, "the resourceClaims")) return;
    for (const Node& item : list.items) {
      const Node* name = item.Find("name");
      pod_.claims.push_back({name != nullptr ? name->text : "", PositionOf(name ? *name : item)});
    }
  }

  Problems& problems_;
  PodManifest& pod_;
};

}  // namespace

Node PositionOf(const Node& node) {
  Node place;
  place.line = node.line;
  place.column = node.column;
  place.length = node.length;
  return place;
}

void ReadPodSpec(const Node& spec, Problems& problems, PodManifest& pod) {
  SpecReader(problems, pod).Read(spec);
}

}  // namespace partita::config
