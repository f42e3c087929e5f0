// Whether two uses can stand beside each other. Decided on what the hardware is made of (a GPU's
// memory slices and, within a GPU instance, its compute slices), never on names.
#pragma once

#include <cstdint>
#include <string_view>

#include "service/ledger/devices.h"

namespace partita::service::ledger {

enum class Clash : std::uint8_t {
  kNone,
  kSameGpu,        // one of the two needs all of it
  kMemorySlices,   // GPU instances that cannot exist together
  kComputeSlices,  // of one GPU instance
  kShared,         // a device beside shares of itself
  kSharing,        // shares that are not made alike
  kSameShare,
  kIommuGroup,  // virtual machines that could reach each other's memory
  kVfioAdmin,   // nobody can look into a GPU that a virtual machine may have
};
// Why, as part of a sentence: "needs the whole GPU". Empty for kNone.
[[nodiscard]] std::string_view ToString(Clash clash);

struct Use {
  Device device;
  bool admin = false;  // looks at it beside whoever holds it
  bool operator==(const Use&) const = default;
};

// Symmetric. `one_owner`: both belong to the same claim or virtual machine, which matters within an
// IOMMU group only. Incarnations play no part: what is gone must not be asked about.
[[nodiscard]] Clash Overlap(const Use& a, const Use& b, bool one_owner = false);
// The same of two devices that are held, not looked at: asked of every holder, so nothing is
// copied.
[[nodiscard]] Clash Between(const Device& a, const Device& b, bool one_owner = false);

// False: they are on two boards, and no Overlap can be. Costs a comparison.
[[nodiscard]] bool MayMeet(const Device& a, const Device& b);

}  // namespace partita::service::ledger
