// PCI addresses as NVML writes and reads them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sim/nvml/nvml_abi.h"
#include "sim/state/layout.h"

namespace partita::sim::nvml {

// Every field of the struct of today; the old calls copy a prefix of it.
nvmlPciInfo_t PciInfoOf(const PciFunction& function, uint32_t device_id, uint32_t subsystem_id);
nvmlPciInfo_t PciInfoOf(const Board& board);

// Bytes that the calls of old wrote: callers own a struct of that size and no more.
inline constexpr size_t kPciInfoBytesV1 = offsetof(nvmlPciInfo_t, pciSubSystemId);
inline constexpr size_t kPciInfoBytesV2 = offsetof(nvmlPciInfo_t, busId);

// "[domain:]bus:device[.0]" in hexadecimal, padded or not. False for anything else: a function
// other than 0 is not a GPU's. Driver 580 on an H200 took all of these spellings.
bool ParseBusId(const char* text, PciFunction* out);

inline bool operator==(const PciFunction& a, const PciFunction& b) {
  return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

}  // namespace partita::sim::nvml
