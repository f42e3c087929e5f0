#include "cdi/difference.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::cdi {
namespace {

using Texts = std::vector<std::string>;
// By what it is known, its effect in words.
using Effects = std::map<std::string, std::string>;

class Collector {
 public:
  void Enter(std::string where) { where_ = std::move(where); }
  void Add(const std::string& what, std::string before, std::string after) {
    found_.push_back({where_ + what, std::move(before), std::move(after)});
  }

  // Same key, another effect; or only on one side.
  void Compare(std::string_view what, const Effects& before, const Effects& after) {
    std::set<std::string> keys;
    for (const auto& [key, effect] : before) keys.insert(key);
    for (const auto& [key, effect] : after) keys.insert(key);
    for (const std::string& key : keys) {
      const std::string old_effect = Of(before, key), new_effect = Of(after, key);
      if (old_effect != new_effect) Add(fmt::format("{} {}", what, key), old_effect, new_effect);
    }
  }

  void CompareInOrder(const std::string& what, const Texts& before, const Texts& after);

  std::vector<Difference> Take() { return std::move(found_); }

 private:
  static std::string Of(const Effects& effects, const std::string& key) {
    const auto found = effects.find(key);
    return found == effects.end() ? "" : found->second;
  }

  std::string where_;
  std::vector<Difference> found_;
};

// lengths[i][j]: how many texts the longest common sequence of what follows i and j has.
std::vector<std::vector<std::size_t>> CommonLengths(const Texts& a, const Texts& b) {
  std::vector<std::vector<std::size_t>> lengths(a.size() + 1,
                                                std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      lengths[i][j] =
          a[i] == b[j] ? lengths[i + 1][j + 1] + 1 : std::max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}

// What went and what came between two texts that both have.
struct Gap {
  Texts gone, come;
};

// Sequences beyond this are compared from both ends alone: the table of lengths grows with their
// product, and whoever wrote the file chose them.
constexpr std::size_t kMostCells = std::size_t{4} << 20;

std::vector<Gap> Gaps(Texts a, Texts b) {
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.pop_back();
    b.pop_back();
  }
  const auto [first, second] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  a.erase(a.begin(), first);
  b.erase(b.begin(), second);
  if ((a.size() + 1) * (b.size() + 1) > kMostCells) return {{std::move(a), std::move(b)}};
  const std::vector<std::vector<std::size_t>> lengths = CommonLengths(a, b);
  std::vector<Gap> gaps(1);
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      gaps.emplace_back();
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && lengths[i + 1][j] >= lengths[i][j + 1])) {
      gaps.back().gone.push_back(a[i++]);
    } else {
      gaps.back().come.push_back(b[j++]);
    }
  }
  return gaps;
}

void Collector::CompareInOrder(const std::string& what, const Texts& before, const Texts& after) {
  for (const Gap& gap : Gaps(before, after)) {
    for (std::size_t i = 0; i < std::max(gap.gone.size(), gap.come.size()); ++i) {
      Add(what, i < gap.gone.size() ? gap.gone[i] : "", i < gap.come.size() ? gap.come[i] : "");
    }
  }
}

// `type` is left out where one side leaves it to the host.
std::string NodeText(const DeviceNode& node, bool with_type) {
  std::string text = with_type && !node.type.empty() ? node.type + ' ' : "";
  text += fmt::format("{}:{}", node.major, node.minor);
  if (node.file_mode) text += fmt::format(", mode {:04o}", *node.file_mode);
  if (!node.permissions.empty() && node.permissions != "rwm") {
    std::string permissions = node.permissions;
    std::sort(permissions.begin(), permissions.end());
    text += fmt::format(", access {}", node.permissions == "none" ? node.permissions : permissions);
  }
  if (node.uid) text += fmt::format(", uid {}", *node.uid);
  if (node.gid) text += fmt::format(", gid {}", *node.gid);
  if (!node.host_path.empty() && node.host_path != node.path) text += ", from " + node.host_path;
  return text;
}

void CompareNodes(const std::vector<DeviceNode>& before,
                  const std::vector<DeviceNode>& after,
                  Collector& collector) {
  std::map<std::string, const DeviceNode*> old_nodes, new_nodes;
  for (const DeviceNode& node : before) old_nodes[node.path] = &node;
  for (const DeviceNode& node : after) new_nodes[node.path] = &node;
  Effects old_effects, new_effects;
  const auto describe = [](const auto& nodes, const auto& others, Effects& effects) {
    for (const auto& [path, node] : nodes) {
      const auto other = others.find(path);
      effects[path] = NodeText(*node, other == others.end() || !other->second->type.empty());
    }
  };
  describe(old_nodes, new_nodes, old_effects);
  describe(new_nodes, old_nodes, new_effects);
  collector.Compare("node", old_effects, new_effects);
}

Effects MountEffects(const std::vector<Mount>& mounts) {
  Effects effects;
  for (const Mount& mount : mounts) {
    std::string text = mount.host_path;
    if (!mount.type.empty()) text += ", type " + mount.type;
    Texts options = mount.options;
    std::sort(options.begin(), options.end());
    if (!options.empty()) text += fmt::format(" ({})", base::Join(options, ","));
    effects[mount.container_path] = std::move(text);
  }
  return effects;
}

// The path, the arguments each with its value, and the rest, in order.
Texts HookParts(const Hook& hook) {
  Texts parts = {"path " + hook.path};
  for (std::size_t i = 0; i < hook.args.size(); ++i) {
    const bool takes_next = hook.args[i].starts_with("--") &&
                            hook.args[i].find('=') == std::string::npos &&
                            i + 1 < hook.args.size() && !hook.args[i + 1].starts_with("--");
    parts.push_back(takes_next ? hook.args[i] + ' ' + hook.args[i + 1] : hook.args[i]);
    if (takes_next) ++i;
  }
  for (const std::string& entry : hook.env) parts.push_back("env " + entry);
  if (hook.timeout) parts.push_back(fmt::format("timeout {} s", *hook.timeout));
  return parts;
}

// "createContainer update-ldcache"; the second and later ones with a number.
struct NamedHook {
  std::string name;
  const Hook* hook;
};

std::vector<NamedHook> NameHooks(const std::vector<Hook>& hooks) {
  std::map<std::string, int> seen;
  std::vector<NamedHook> named;
  for (const Hook& hook : hooks) {
    std::string name = hook.hook_name;
    // nvidia-ctk has a word before: `nvidia-ctk hook update-ldcache`.
    const std::size_t verb = hook.args.size() > 2 && hook.args[1] == "hook" ? 2 : 1;
    if (hook.args.size() > verb) name += ' ' + hook.args[verb];
    if (const int count = ++seen[name]; count > 1) name += fmt::format(" ({})", count);
    named.push_back({std::move(name), &hook});
  }
  return named;
}

const Hook* Find(const std::vector<NamedHook>& hooks, const std::string& name) {
  const auto found = std::find_if(hooks.begin(), hooks.end(),
                                  [&](const NamedHook& each) { return each.name == name; });
  return found == hooks.end() ? nullptr : found->hook;
}

void CompareHooks(const std::vector<Hook>& before,
                  const std::vector<Hook>& after,
                  Collector& collector) {
  const std::vector<NamedHook> old_hooks = NameHooks(before), new_hooks = NameHooks(after);
  Texts old_order, new_order;
  for (const NamedHook& each : old_hooks) {
    const Hook* other = Find(new_hooks, each.name);
    if (other == nullptr) {
      collector.Add("hook " + each.name, base::Join(HookParts(*each.hook), " "), "");
      continue;
    }
    old_order.push_back(each.name);
    collector.CompareInOrder("hook " + each.name, HookParts(*each.hook), HookParts(*other));
  }
  for (const NamedHook& each : new_hooks) {
    if (Find(old_hooks, each.name) != nullptr)
      new_order.push_back(each.name);
    else
      collector.Add("hook " + each.name, "", base::Join(HookParts(*each.hook), " "));
  }
  if (old_order != new_order) {
    collector.Add("order of hooks", base::Join(old_order, ", "), base::Join(new_order, ", "));
  }
}

std::string RdtText(const std::optional<IntelRdt>& rdt) {
  if (!rdt) return "";
  return fmt::format("closID {}, l3CacheSchema {}, memBwSchema {}, schemata {}, monitoring {}",
                     rdt->clos_id, rdt->l3_cache_schema, rdt->mem_bw_schema,
                     base::Join(rdt->schemata, " "), rdt->enable_monitoring);
}

std::string GidsText(const std::vector<std::uint32_t>& gids) {
  Texts texts;
  for (const std::uint32_t gid : std::set<std::uint32_t>(gids.begin(), gids.end()))
    texts.push_back(std::to_string(gid));
  return base::Join(texts, ", ");
}

void CompareTexts(const std::string& what,
                  const std::string& before,
                  const std::string& after,
                  Collector& collector) {
  if (before != after) collector.Add(what, before, after);
}

void CompareEdits(const ContainerEdits& before, const ContainerEdits& after, Collector& collector) {
  collector.CompareInOrder("env", before.env, after.env);
  CompareNodes(before.device_nodes, after.device_nodes, collector);
  Effects old_interfaces, new_interfaces;
  for (const NetDevice& device : before.net_devices)
    old_interfaces[device.host_interface_name] = device.name;
  for (const NetDevice& device : after.net_devices)
    new_interfaces[device.host_interface_name] = device.name;
  collector.Compare("net device", old_interfaces, new_interfaces);
  CompareHooks(before.hooks, after.hooks, collector);
  collector.Compare("mount", MountEffects(before.mounts), MountEffects(after.mounts));
  CompareTexts("intelRdt", RdtText(before.intel_rdt), RdtText(after.intel_rdt), collector);
  CompareTexts("additionalGids", GidsText(before.additional_gids), GidsText(after.additional_gids),
               collector);
}

}  // namespace

std::vector<Difference> Differences(const Spec& before, const Spec& after) {
  Collector collector;
  CompareTexts("cdiVersion", before.version, after.version, collector);
  CompareTexts("kind", before.kind, after.kind, collector);
  collector.Compare("annotation", before.annotations, after.annotations);
  std::map<std::string, const Device*> old_devices, new_devices;
  for (const Device& device : before.devices) old_devices[device.name] = &device;
  for (const Device& device : after.devices) new_devices[device.name] = &device;
  std::set<std::string> names;
  for (const auto& [name, device] : old_devices) names.insert(name);
  for (const auto& [name, device] : new_devices) names.insert(name);
  for (const std::string& name : names) {
    const auto old_device = old_devices.find(name), new_device = new_devices.find(name);
    if (old_device == old_devices.end() || new_device == new_devices.end()) {
      collector.Add("device " + name, old_device == old_devices.end() ? "" : "there",
                    new_device == new_devices.end() ? "" : "there");
      continue;
    }
    collector.Enter(fmt::format("device {}: ", name));
    collector.Compare("annotation", old_device->second->annotations,
                      new_device->second->annotations);
    CompareEdits(old_device->second->edits, new_device->second->edits, collector);
    collector.Enter("");
  }
  collector.Enter("common edits: ");
  CompareEdits(before.edits, after.edits, collector);
  return collector.Take();
}

}  // namespace partita::cdi
