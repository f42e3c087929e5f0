#include "service/cdi/simplify.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace partita::service::cdi {

namespace {

using partita::cdi::ContainerEdits;
using partita::cdi::Device;
using partita::cdi::DeviceNode;
using partita::cdi::Mount;
using partita::cdi::Spec;

template <typename T>
bool Contains(const std::vector<T>& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

template <typename T>
void KeepFirst(std::vector<T>& list) {
  std::vector<T> kept;
  for (T& item : list) {
    if (!Contains(kept, item)) kept.push_back(std::move(item));
  }
  list = std::move(kept);
}

void KeepFirst(ContainerEdits& edits) {
  KeepFirst(edits.env);
  KeepFirst(edits.device_nodes);
  KeepFirst(edits.hooks);
  KeepFirst(edits.mounts);
  KeepFirst(edits.additional_gids);
  std::sort(edits.additional_gids.begin(), edits.additional_gids.end());
}

template <typename T>
void Remove(const std::vector<T>& these, std::vector<T>& from) {
  std::erase_if(from, [&](const T& item) { return Contains(these, item); });
}

// Groups stay: they are those of the device's own nodes.
void RemoveShared(const ContainerEdits& shared, Device& device) {
  ContainerEdits own = device.edits;
  Remove(shared.env, own.env);
  Remove(shared.device_nodes, own.device_nodes);
  Remove(shared.hooks, own.hooks);
  Remove(shared.mounts, own.mounts);
  if (!own.empty()) device.edits = std::move(own);
}

auto Depth(std::string_view path) { return std::count(path.begin(), path.end(), '/'); }

void Sort(ContainerEdits& edits) {
  const auto node_key = [](const DeviceNode& node) {
    return std::tuple(Depth(node.path), std::string_view(node.path),
                      std::string_view(node.host_path));
  };
  std::stable_sort(edits.device_nodes.begin(), edits.device_nodes.end(),
                   [&](const auto& a, const auto& b) { return node_key(a) < node_key(b); });
  const auto mount_key = [](const Mount& mount) {
    return std::tuple(Depth(mount.container_path), std::string_view(mount.container_path),
                      std::string_view(mount.host_path));
  };
  std::stable_sort(edits.mounts.begin(), edits.mounts.end(),
                   [&](const auto& a, const auto& b) { return mount_key(a) < mount_key(b); });
}

}  // namespace

void Simplify(Spec& spec) {
  KeepFirst(spec.edits);
  Sort(spec.edits);
  for (Device& device : spec.devices) {
    KeepFirst(device.edits);
    RemoveShared(spec.edits, device);
    Sort(device.edits);
  }
  std::stable_sort(spec.devices.begin(), spec.devices.end(),
                   [](const Device& a, const Device& b) { return a.name < b.name; });
}

void AddAllDevice(Spec& spec) {
  Device all;
  all.name = "all";
  for (const Device& device : spec.devices) {
    if (device.name == all.name) return;
    all.edits.Append(device.edits);
  }
  spec.devices.push_back(std::move(all));
  Simplify(spec);
}

}  // namespace partita::service::cdi
