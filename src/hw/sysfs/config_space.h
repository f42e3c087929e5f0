// What a PCI function answers by itself, whatever its driver does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/ids.h"

namespace partita::hw::sysfs {

// The first word of its configuration space: (device << 16) | vendor, and all ones where nobody
// answers any more. Nothing: it is not listed on the bus, or may not be read. A GPU that sleeps is
// woken by it.
[[nodiscard]] std::optional<std::uint32_t> ConfigWord(const std::string& root,
                                                      const model::PciAddress& pci);

}  // namespace partita::hw::sysfs
