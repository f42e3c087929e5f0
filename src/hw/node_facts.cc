#include "hw/node_facts.h"

#include <utility>
#include <vector>

#include "base/files.h"
#include "hw/sysfs/pci.h"
#include "hw/sysfs/vgpu.h"

namespace partita::hw {

model::NodeFacts ReadNodeFacts(const std::string& root) {
  model::NodeFacts facts;
  base::Result<std::string> machine =
      base::ReadFile(base::JoinPath(root, "sys/class/dmi/id/product_name"));
  if (machine.ok()) facts.machine = *std::move(machine);
  if (const base::Result<std::vector<sysfs::PciGpu>> bus = sysfs::ScanPciGpus(root); bus.ok())
    facts.gpus_on_bus = static_cast<std::uint32_t>(bus->size());
  base::Result<model::VgpuFacts> vgpu = sysfs::ReadVgpu(root);
  if (vgpu.ok()) facts.vgpu = *std::move(vgpu);
  return facts;
}

}  // namespace partita::hw
