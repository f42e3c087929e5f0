#include "sim/nvml/pci.h"

#include <stdio.h>

namespace partita::sim::nvml {
namespace {

// The value of a hexadecimal digit, or -1.
int Digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads 1 to `most` digits at *text and moves past them.
bool ReadHex(const char** text, int most, uint32_t* out) {
  uint32_t value = 0;
  int digits = 0;
  for (; Digit(**text) >= 0; ++*text, ++digits) {
    if (digits == most) return false;
    value = value * 16 + static_cast<uint32_t>(Digit(**text));
  }
  *out = value;
  return digits > 0;
}

}  // namespace

nvmlPciInfo_t PciInfoOf(const PciFunction& function, uint32_t device_id, uint32_t subsystem_id) {
  nvmlPciInfo_t pci{};
  snprintf(pci.busIdLegacy, sizeof pci.busIdLegacy, "%04X:%02X:%02X.0", function.domain,
           function.bus, function.device);
  snprintf(pci.busId, sizeof pci.busId, "%08X:%02X:%02X.0", function.domain, function.bus,
           function.device);
  pci.domain = function.domain;
  pci.bus = function.bus;
  pci.device = function.device;
  pci.pciDeviceId = device_id;
  pci.pciSubSystemId = subsystem_id;
  return pci;
}

nvmlPciInfo_t PciInfoOf(const Board& board) {
  return PciInfoOf(board.pci, board.pci_device_id, board.pci_subsystem_id);
}

bool ParseBusId(const char* text, PciFunction* out) {
  // The numbers before the last colon are the bus, or domain and bus.
  uint32_t first = 0;
  uint32_t second = 0;
  if (!ReadHex(&text, 8, &first) || *text++ != ':' || !ReadHex(&text, 8, &second)) return false;
  if (*text == ':') {
    ++text;
    *out = {.domain = first, .bus = second, .device = 0};
    if (!ReadHex(&text, 2, &out->device)) return false;
  } else {
    *out = {.domain = 0, .bus = first, .device = second};
  }
  if (out->bus > 0xFF || out->device > 0x1F) return false;
  if (*text == '\0') return true;
  return text[0] == '.' && text[1] == '0' && text[2] == '\0';
}

}  // namespace partita::sim::nvml
