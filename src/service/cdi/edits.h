// What a container needs for one GPU, for one MIG device, and for any of them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/spec.h"
#include "model/inventory.h"
#include "service/cdi/device_files.h"
#include "service/cdi/driver_files.h"

namespace partita::service::cdi {

// As the host calls them. A path in a container is the host's without them.
struct Places {
  std::string driver_root = "/", dev_root = "/";
};

// The hooks that a spec can have.
[[nodiscard]] std::span<const std::string_view> HookNames();

// The hooks of a spec: which program carries them out, and which are wanted.
struct HookSet {
  std::string path = "/usr/bin/partita-hook";
  std::string first_argument = "nvidia-cdi-hook";  // args[0], by which that program knows its part
  std::string ldconfig_path;                       // empty: the hook's own choice
  std::set<std::string> disabled;                  // "all": every one
  std::set<std::string> enabled;                   // these in spite of `disabled`
  bool additional_gids = true;                     // groups of nodes that not everybody may open

  // Nothing for a hook that is not wanted. Its environment is never empty: a runtime would give a
  // hook without one that of the container, which an image chooses.
  [[nodiscard]] std::optional<partita::cdi::Hook> Make(std::string_view name,
                                                       std::vector<std::string> arguments) const;
  // With "--link" for each; nothing without any.
  [[nodiscard]] std::optional<partita::cdi::Hook> MakeLinks(std::span<const Link> links) const;
};

enum class Naming : std::uint8_t { kIndex, kUuid, kTypeIndex };

// A GPU or slice that lacks a node which it needs is kNotFound, with the node's name: without it a
// slice would silently be something else.
[[nodiscard]] base::Result<partita::cdi::ContainerEdits> GpuEdits(const model::Gpu& gpu,
                                                                  const DeviceFiles& devices,
                                                                  const Places& places,
                                                                  const HookSet& hooks);
[[nodiscard]] base::Result<partita::cdi::ContainerEdits> MigEdits(
    const model::Gpu& gpu,
    const model::GpuInstance& instance,
    const model::ComputeInstance& compute,
    const DeviceFiles& devices,
    const Places& places,
    const HookSet& hooks);

// Control nodes, the driver's files, environment and hooks.
[[nodiscard]] partita::cdi::ContainerEdits CommonEdits(const DriverFiles& driver,
                                                       const DeviceFiles& devices,
                                                       const Places& places,
                                                       const HookSet& hooks);
// The same for whoever manages the node: nothing to draw with.
[[nodiscard]] partita::cdi::ContainerEdits ManagementEdits(const DriverFiles& driver,
                                                           const HookSet& hooks);

// One node with its groups, or as much as is known of it.
void AddNode(const std::string& path,
             const DeviceFiles& devices,
             const Places& places,
             const HookSet& hooks,
             partita::cdi::ContainerEdits& edits);
void AddMount(const partita::cdi::DriverFile& file, partita::cdi::ContainerEdits& edits);
void AddHook(std::optional<partita::cdi::Hook> hook, partita::cdi::ContainerEdits& edits);

// "0", "GPU-…", "gpu0"; with a compute instance "0:1", "MIG-…", "mig0:1". kNotFound where the
// driver did not say what a name is made of.
[[nodiscard]] base::Result<std::vector<std::string>> Names(const model::Gpu& gpu,
                                                           const model::ComputeInstance* compute,
                                                           std::span<const Naming> namings);

// "GPU 0", else where it is.
[[nodiscard]] std::string Called(const model::Gpu& gpu);

}  // namespace partita::service::cdi
