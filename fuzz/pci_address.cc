// Any text as a PCI address, for partita and for the simulator, which have a parser each.
#include <string>

#include "fuzz/target.h"
#include "model/ids.h"
#include "sim/load/pci_address.h"

FUZZ_TARGET(pci_address) {
  using partita::model::PciAddress;
  const std::string_view text = partita::fuzz::AsText(data, size);
  const auto address = PciAddress::Parse(text);
  if (address.ok()) {
    const auto by_sysfs = PciAddress::Parse(address->ToString());
    PARTITA_CHECK(by_sysfs.ok() && *by_sysfs == *address);
    const auto by_nvml = PciAddress::Parse(address->NvmlBusId());
    PARTITA_CHECK(by_nvml.ok() && *by_nvml == *address);
  }
  // The simulator takes fewer forms; what it takes means the same.
  if (const auto simulated = partita::sim::load::ParsePciAddress(text)) {
    PARTITA_CHECK(address.ok() && address->domain == simulated->domain);
    PARTITA_CHECK(address->bus == simulated->bus && address->device == simulated->device);
    const auto again =
        partita::sim::load::ParsePciAddress(partita::sim::load::FormatPciAddress(*simulated));
    PARTITA_CHECK(again && partita::sim::load::Same(*again, *simulated));
  }
  return 0;
}
