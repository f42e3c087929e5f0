// PCI addresses as people and sysfs write them. Every simulated device is function 0.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "sim/state/layout.h"

namespace partita::sim::load {

// "0000:07:00.0": a domain of 4 to 8 hex digits, then bus, device and function 0, in either case.
[[nodiscard]] std::optional<PciFunction> ParsePciAddress(std::string_view text);
// "0000:07:00.0", lower case as in sysfs.
[[nodiscard]] std::string FormatPciAddress(const PciFunction& address);
// "pci0000:00": the root bus that a device hangs on when no bridge is above it.
[[nodiscard]] std::string RootBusName(const PciFunction& on_root_bus);

[[nodiscard]] std::strong_ordering Compare(const PciFunction& a, const PciFunction& b);
[[nodiscard]] inline bool Same(const PciFunction& a, const PciFunction& b) {
  return Compare(a, b) == std::strong_ordering::equal;
}

}  // namespace partita::sim::load
