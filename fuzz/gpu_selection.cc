// Any text as `--gpu`: it chooses exactly one GPU of those there, or is refused with a reason.
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "model/gpu_selection.h"

namespace {

partita::model::Inventory TwoGpus() {
  using namespace partita::model;
  Inventory inventory;
  for (std::uint32_t i = 0; i < 2; ++i) {
    Gpu gpu;
    gpu.index = GpuIndex(i);
    gpu.uuid = GpuUuid(i == 0 ? "GPU-75dc73da-78d6-3405-d610-419a0819d22a"
                              : "GPU-75dc73db-78d6-3405-d610-419a0819d22a");
    gpu.pci = PciAddress{0, static_cast<std::uint8_t>(7 + i), 0, 0};
    inventory.gpus.push_back(std::move(gpu));
  }
  VfioGpu for_machines;
  for_machines.pci = PciAddress{0x10000, 1, 2, 3};
  inventory.vfio.push_back(for_machines);
  return inventory;
}

}  // namespace

FUZZ_TARGET(gpu_selection) {
  const std::string text(partita::fuzz::AsText(data, size));
  const auto selected = partita::model::SelectGpus(TwoGpus(), {text});
  if (!selected.ok()) {
    PARTITA_CHECK(selected.error().code() == partita::base::ErrorCode::kInvalid);
    PARTITA_CHECK(!selected.error().message().empty());
    return 0;
  }
  PARTITA_CHECK(selected->gpus.size() + selected->vfio.size() >= 1);
  return 0;
}
