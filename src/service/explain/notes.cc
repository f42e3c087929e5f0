#include "service/explain/notes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/resource_name.h"

namespace partita::service::explain {
namespace {

using config::ListStrategy;

bool Uses(const config::PluginConfig& config, ListStrategy strategy) {
  const auto& all = config.list_strategies;
  return std::find(all.begin(), all.end(), strategy) != all.end();
}

// Without CDI something else has to act on the variables and mounts.
bool NeedsRuntime(const config::PluginConfig& config) {
  return Uses(config, ListStrategy::kEnvvar) || Uses(config, ListStrategy::kVolumeMounts);
}

void NoteForeign(const config::PodManifest& pod, PodAnswer& answer) {
  std::set<std::string> told;
  for (const config::ManifestContainer& container : pod.containers)
    for (const config::ResourceRequest& request : container.resources)
      if (!request.name.starts_with(config::kResourcePrefix) && told.insert(request.name).second)
        answer.notes.push_back(fmt::format(
            "{} is no resource of partita's: whoever offers it answers for it", request.name));
}

void NoteShares(PodAnswer& answer) {
  bool shared = false, several = false, by_mps = false;
  for (const ContainerAnswer& container : answer.containers)
    for (const Grant& grant : container.grants) {
      std::set<std::string> whole;
      for (const GivenDevice& device : grant.devices) {
        const bool slice = device.share && !device.share->mps;
        shared = shared || slice;
        several = several || (slice && !whole.insert(device.whole_id).second);
        by_mps = by_mps || (device.share && device.share->mps);
      }
    }
  if (shared)
    answer.notes.emplace_back(
        "a share is a turn on the device, not a part of it: its memory is everybody's, nobody's "
        "use "
        "of it is limited, and an error of one ends all");
  if (several)
    answer.notes.emplace_back(
        "two shares of one device are no more of it than one: ask for one of each");
  if (by_mps)
    answer.notes.emplace_back(
        "what a share by MPS may take is each program's limit: two programs of a container may "
        "take "
        "it twice; an error of one ends all of its device");
}

// Where kubelet has two of this variable; empty: nothing.
std::string_view WhatIsLost(std::string_view variable) {
  if (variable == "NVIDIA_VISIBLE_DEVICES")
    return "it sees the devices of one; deviceListStrategy cdi-cri unites them";
  if (variable == "CUDA_MPS_PIPE_DIRECTORY")
    return "its programs find the daemon of one; ask for shares of one resource";
  return "";
}

// kubelet keeps one variable of each name.
void NoteConflicts(PodAnswer& answer) {
  for (const ContainerAnswer& container : answer.containers) {
    std::set<std::string> names;
    for (const Grant& grant : container.grants)
      for (const auto& [name, value] : grant.answer.envs)
        if (const std::string_view what = WhatIsLost(name);
            !what.empty() && !names.insert(name).second)
          answer.notes.push_back(
              fmt::format("{} asks for several resources, and kubelet keeps one of their {}: {}",
                          container.name, name, what));
  }
}

void NoteRuntime(const config::PodManifest& pod,
                 const NodeView& node,
                 bool gets_devices,
                 PodAnswer& answer) {
  if (!NeedsRuntime(node.config)) {
    if (pod.runtime_class && gets_devices)
      answer.notes.push_back(fmt::format(
          "runtimeClassName {} is not needed: CDI names reach the container by any runtime",
          pod.runtime_class->text));
    return;
  }
  if (gets_devices)
    answer.notes.push_back(
        pod.runtime_class
            ? fmt::format("the runtime of class {} must be NVIDIA's or ours: it acts on "
                          "NVIDIA_VISIBLE_DEVICES",
                          pod.runtime_class->text)
            : "the engine's default runtime must be NVIDIA's or ours: it acts on "
              "NVIDIA_VISIBLE_DEVICES");
}

void NoteVariables(const config::PodManifest& pod, const NodeView& node, PodAnswer& answer) {
  for (const config::ManifestContainer& container : pod.containers) {
    if (!container.visible_devices) continue;
    const std::string what = fmt::format("{} sets NVIDIA_VISIBLE_DEVICES to {}", container.name,
                                         base::Quoted(container.visible_devices->text));
    answer.notes.push_back(NeedsRuntime(node.config)
                               ? what + ": that asks past kubelet, for devices that others may hold"
                               : what +
                                     ": with CDI it gets what kubelet gives, and nothing by that");
  }
}

}  // namespace

void AddNotes(const config::PodManifest& pod, const NodeView& node, PodAnswer& answer) {
  NoteForeign(pod, answer);
  const bool gets_devices =
      std::any_of(answer.containers.begin(), answer.containers.end(),
                  [](const ContainerAnswer& container) { return !container.grants.empty(); });
  const bool asks = std::any_of(
      pod.containers.begin(), pod.containers.end(),
      [](const config::ManifestContainer& container) { return !container.resources.empty(); });
  if (!asks && pod.claims.empty())
    answer.notes.emplace_back("it asks for no device, and gets none");
  NoteShares(answer);
  NoteConflicts(answer);
  NoteRuntime(pod, node, gets_devices, answer);
  NoteVariables(pod, node, answer);
  if (pod.node_name)
    answer.notes.push_back(fmt::format(
        "nodeName {} sends it there past the scheduler: this is the answer of this node",
        pod.node_name->text));
}

}  // namespace partita::service::explain
