#include "sim/load/pci_address.h"

#include <cstdint>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "base/text.h"

namespace partita::sim::load {

std::optional<PciFunction> ParsePciAddress(std::string_view text) {
  const std::vector<std::string_view> parts = base::Split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  const std::vector<std::string_view> slot = base::Split(parts[2], '.');
  if (parts[0].size() < 4 || parts[0].size() > 8 || parts[1].size() != 2 || slot.size() != 2 ||
      slot[0].size() != 2 || slot[1] != "0") {
    return std::nullopt;
  }
  const auto domain = base::ParseUnsigned(parts[0], 16);
  const auto bus = base::ParseUnsigned(parts[1], 16);
  const auto device = base::ParseUnsigned(slot[0], 16);
  if (!domain || !bus || !device || *device > 0x1F) return std::nullopt;
  return PciFunction{static_cast<std::uint32_t>(*domain), static_cast<std::uint32_t>(*bus),
                     static_cast<std::uint32_t>(*device)};
}

std::string FormatPciAddress(const PciFunction& address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", address.domain, address.bus, address.device);
}

std::string RootBusName(const PciFunction& on_root_bus) {
  return fmt::format("pci{:04x}:{:02x}", on_root_bus.domain, on_root_bus.bus);
}

std::strong_ordering Compare(const PciFunction& a, const PciFunction& b) {
  return std::tie(a.domain, a.bus, a.device) <=> std::tie(b.domain, b.bus, b.device);
}

}  // namespace partita::sim::load
