// What can be held, by what stays the same: never an index, a GPU instance id or a slot number.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/strong.h"
#include "model/ids.h"
#include "model/instance_key.h"
#include "model/inventory.h"

namespace partita::service::ledger {

// A physical GPU is its UUID. Where it sits is remembered, to know it again under vfio.
struct WholeGpu {
  model::GpuUuid uuid;
  std::optional<model::PciAddress> slot = std::nullopt;
  bool operator==(const WholeGpu&) const = default;
};

// Counts what was made at one place, one after the other. 0: not made yet.
using Incarnation = base::Strong<struct IncarnationTag, std::uint64_t>;

// A compute instance in its GPU instance, existing or still to be made. Drivers give the same UUID
// again, even to another profile, so a UUID alone names nothing.
struct MigDevice {
  WholeGpu gpu;
  model::ProfileId profile;
  model::Placement memory;   // memory slices of its GPU instance
  model::Placement compute;  // compute slices within it
  model::MigUuid uuid = {};  // empty: not made yet
  Incarnation incarnation = {};
  [[nodiscard]] model::InstanceKey instance() const { return {gpu.uuid, profile, memory.start}; }
  bool operator==(const MigDevice&) const = default;
};

// How a device is shared. Shares of one device stand beside each other only if all of this agrees.
struct Sharing {
  std::string strategy;    // "time-slicing", "mps"
  std::string parameters;  // as configured, in one canonical text
  std::string offer;       // the resource or class it is offered under
  bool operator==(const Sharing&) const = default;
};

struct Share {
  std::variant<WholeGpu, MigDevice> of;
  std::uint32_t n = 0;  // among those of its size
  Sharing sharing;
  std::string size = {};  // "small", where a device has shares of several sizes
  bool operator==(const Share&) const = default;
};

// A GPU given to virtual machines: an address, since nobody can ask it who it is.
struct VfioDevice {
  model::PciAddress pci;
  std::optional<model::GpuUuid> remembered = std::nullopt;
  std::optional<std::uint32_t> iommu_group = std::nullopt;
  bool operator==(const VfioDevice&) const = default;
};

using Device = std::variant<WholeGpu, MigDevice, Share, VfioDevice>;

// One text a device, the same as long as it is the same device (whatever its incarnation):
// "GPU-…", "GPU-…/9@4/0+3" (profile, start, compute slices), either with "::2" or "::small-2",
// "0000:07:00.0".
[[nodiscard]] std::string KeyOf(const Device& device);
[[nodiscard]] std::string KeyOf(const model::InstanceKey& instance);

// Which of the shares of its device: "2", "small-2". By size, so that another number of shares of
// one size moves none of the others.
[[nodiscard]] std::string NumberOf(const Share& share);

// The physical GPU that a device is or lies on: its UUID, else its address.
using Board = base::Strong<struct BoardTag, std::string>;
[[nodiscard]] Board BoardOf(const Device& device);

// The MIG device that this is, or is a share of; null for everything else.
[[nodiscard]] const MigDevice* MigPart(const Device& device);
[[nodiscard]] MigDevice* MigPart(Device& device);

// All of a GPU instance, as something that an operation works on.
[[nodiscard]] MigDevice WholeInstance(const WholeGpu& gpu,
                                      model::ProfileId profile,
                                      model::Placement memory);

// For people: "GPU-…", "MIG-… (profile 9 at slice 4 of GPU-…)", "share 2 of …", "0000:07:00.0
// (vfio)".
[[nodiscard]] std::string ToString(const Device& device);

}  // namespace partita::service::ledger
