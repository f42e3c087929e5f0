// Any bytes as the PCI config space of an NVIDIA function.
#include "hw/sysfs/vgpu.h"
#include "fuzz/target.h"

FUZZ_TARGET(vgpu) {
  const auto host = partita::hw::sysfs::ParseVgpu(partita::fuzz::AsText(data, size));
  PARTITA_CHECK(host.ok() == (size >= 256));
  if (!host.ok() || !*host) return 0;
  PARTITA_CHECK((*host)->driver_version.size() <= 10 && (*host)->driver_branch.size() <= 10);
  PARTITA_CHECK((*host)->driver_version.find('\0') == std::string::npos);
  return 0;
}
