// How a GPU or MIG device is named by whoever asks for it: one grammar for every command, variable,
// annotation and mount.
//
//   3                            the GPU of this index
//   3:1                          the MIG device in slot 1 of it
//   GPU-…, MIG-…                 by UUID
//   MIG-GPU-…/5/0                by the GPU's UUID, GPU instance and compute instance
//   0000:3b:00.0, 3b:00.0        by PCI address, always with the function: 7:0 is a MIG device
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"
#include "model/ids.h"

namespace partita::request {

struct WholeGpu {
  std::uint32_t index = 0;
  bool operator==(const WholeGpu&) const = default;
};
struct Slice {
  std::uint32_t gpu = 0, slot = 0;
  bool operator==(const Slice&) const = default;
};
// UUIDs in lower case, as they are compared: "gpu-…".
struct ByUuid {
  std::string uuid;
  bool operator==(const ByUuid&) const = default;
};
struct ByInstance {
  std::string gpu_uuid;
  std::uint32_t gi = 0, ci = 0;
  bool operator==(const ByInstance&) const = default;
};
struct ByBus {
  model::PciAddress pci;
  bool operator==(const ByBus&) const = default;
};
using DeviceId = std::variant<WholeGpu, Slice, ByUuid, ByInstance, ByBus>;

// kInvalid: `identifier is not a valid UUID or index`; so for "all" and "none", which name no
// device.
[[nodiscard]] base::Result<DeviceId> ParseDeviceId(std::string_view text);

[[nodiscard]] bool MayBeAnothers(std::uint32_t gpu,
                                 std::optional<std::uint32_t> slot,
                                 const cdi::Miscount& miscount);

// kUnavailable: it names by a number that means another device than usual now.
[[nodiscard]] base::Result<void> CheckNumber(const DeviceId& id,
                                             std::string_view text,
                                             std::span<const cdi::Miscount> miscounts);

// The rows in the order of the ids, each once. kInvalid: no id; kNotFound: `<id>: unknown device`;
// kUnavailable as above.
[[nodiscard]] base::Result<std::vector<const cdi::DeviceRow*>> Resolve(
    std::span<const std::string> ids, const cdi::NodeDevices& node);

}  // namespace partita::request
