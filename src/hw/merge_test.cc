#include "hw/merge.h"

#include <gtest/gtest.h>

namespace partita::hw {
namespace {

model::PciAddress At(std::uint8_t bus) {
  return {.domain = 0, .bus = bus, .device = 0, .function = 0};
}

sysfs::PciGpu OnBus(std::uint8_t bus, const std::string& driver) {
  sysfs::PciGpu gpu;
  gpu.pci = At(bus);
  gpu.device_id = 0x20B010DE;
  gpu.driver = driver;
  return gpu;
}

model::Gpu Answering(std::uint8_t bus, std::uint32_t index) {
  model::Gpu gpu;
  gpu.pci = At(bus);
  gpu.index = model::GpuIndex(index);
  gpu.uuid = model::GpuUuid("GPU-" + std::to_string(index));
  return gpu;
}

model::Gpu Lost(std::uint8_t bus) {
  model::Gpu gpu;
  gpu.pci = At(bus);
  gpu.faults.push_back({model::FaultKind::kLost, "fell off the bus"});
  return gpu;
}

nvml::Facts FactsWith(std::uint32_t count, std::vector<model::Gpu> gpus) {
  nvml::Facts facts;
  facts.driver = model::Driver{};
  facts.count = count;
  facts.gpus = std::move(gpus);
  return facts;
}

TEST(Merge, TakesFromTheBusAndTheFilesWhatTheLibraryDoesNotSay) {
  sysfs::PciGpu on_bus = OnBus(7, "nvidia");
  on_bus.subsystem_id = 0x134F10DE;
  on_bus.numa_node = 3;
  on_bus.irq = 77;
  on_bus.path = {At(1)};
  procfs::GpuInformation file;
  file.pci = At(7);
  file.model = "NVIDIA A100-SXM4-40GB";
  file.uuid = model::GpuUuid("GPU-a");
  file.minor = model::DeviceMinor(2);
  file.irq = 78;
  file.vbios = "92.00";

  const model::Inventory inventory = Merge({on_bus}, {file}, FactsWith(1, {Lost(7)}));
  ASSERT_EQ(inventory.gpus.size(), 1U);
  const model::Gpu& gpu = inventory.gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(gpu.uuid, model::GpuUuid("GPU-a"));
  EXPECT_EQ(gpu.minor, model::DeviceMinor(2));
  EXPECT_EQ(gpu.pci_device_id, 0x20B010DEU);
  EXPECT_EQ(gpu.pci_subsystem_id, 0x134F10DEU);
  EXPECT_EQ(gpu.numa_node, 3);
  EXPECT_EQ(gpu.irq, 77U);
  EXPECT_EQ(gpu.vbios, "92.00");
  EXPECT_EQ(gpu.pci_path, std::vector<model::PciAddress>{At(1)});
}

TEST(Merge, GivesALostGpuItsPlaceAmongTheOthers) {
  const std::vector<sysfs::PciGpu> bus = {OnBus(7, "nvidia"), OnBus(15, "nvidia"),
                                          OnBus(71, "nvidia")};
  const model::Inventory inventory =
      Merge(bus, {}, FactsWith(3, {Answering(7, 0), Lost(15), Answering(71, 2)}));
  ASSERT_EQ(inventory.gpus.size(), 3U);
  EXPECT_EQ(inventory.gpus[1].pci, At(15));
  EXPECT_EQ(inventory.gpus[1].index, model::GpuIndex(1));
}

TEST(Merge, GuessesNoIndexThatTheOthersContradict) {
  const std::vector<sysfs::PciGpu> bus = {OnBus(7, "nvidia"), OnBus(15, "nvidia")};
  // The library numbers one GPU only: the second on the bus is its first.
  const model::Inventory inventory = Merge(bus, {}, FactsWith(1, {Lost(7), Answering(15, 0)}));
  ASSERT_EQ(inventory.gpus.size(), 2U);
  EXPECT_EQ(inventory.gpus[0].pci, At(15));
  EXPECT_EQ(inventory.gpus[1].pci, At(7));
  EXPECT_EQ(inventory.gpus[1].index, std::nullopt);

  const model::Inventory reversed = Merge(bus, {}, FactsWith(2, {Answering(7, 1), Lost(15)}));
  EXPECT_EQ(reversed.gpus[1].index, std::nullopt);
}

TEST(Merge, SeparatesGpusOfVirtualMachinesAndThoseWithoutADriver) {
  sysfs::PciGpu vfio = OnBus(0x0F, "vfio-pci");
  vfio.iommu_group = 27;
  vfio.numa_node = 1;
  const std::vector<sysfs::PciGpu> bus = {OnBus(7, "nvidia"), vfio, OnBus(0x47, ""),
                                          OnBus(0x4E, "nouveau")};
  EXPECT_EQ(BoundToNvidia(bus), std::vector<model::PciAddress>{At(7)});
  const model::Inventory inventory = Merge(bus, {}, FactsWith(1, {Answering(7, 0)}));
  EXPECT_EQ(inventory.gpus.size(), 1U);
  ASSERT_EQ(inventory.vfio.size(), 1U);
  EXPECT_EQ(inventory.vfio[0],
            (model::VfioGpu{
                .pci = At(0x0F), .pci_device_id = 0x20B010DE, .numa_node = 1, .iommu_group = 27}));
  ASSERT_EQ(inventory.problems.size(), 2U);
  EXPECT_EQ(inventory.problems[0].gpu, "0000:47:00.0");
  EXPECT_EQ(inventory.problems[0].error.ToString(), "the GPU has no driver, so it cannot be used");
  EXPECT_EQ(inventory.problems[0].error.hint(),
            "bind 0000:47:00.0 to nvidia, or to vfio-pci for virtual machines");
  EXPECT_EQ(inventory.problems[1].error.ToString(),
            "the GPU belongs to driver nouveau, so it cannot be used");
}

TEST(Merge, ListsBoundGpusAlsoWithoutTheLibrary) {
  nvml::Facts facts;
  facts.driver_error = base::Error(base::ErrorCode::kUnavailable, "no library");
  const model::Inventory inventory = Merge({OnBus(7, "nvidia")}, {}, facts);
  EXPECT_EQ(inventory.driver, std::nullopt);
  EXPECT_EQ(inventory.driver_error, facts.driver_error);
  ASSERT_EQ(inventory.gpus.size(), 1U);
  ASSERT_EQ(inventory.gpus[0].faults.size(), 1U);
  EXPECT_EQ(inventory.gpus[0].faults[0].kind, model::FaultKind::kUnreadable);
}

TEST(Merge, SaysWhyAnExcludedGpuIsMissing) {
  model::Gpu missing;
  missing.pci = At(7);
  missing.faults.push_back({model::FaultKind::kMissing, "see the kernel log"});
  procfs::GpuInformation file;
  file.pci = At(7);
  file.excluded = true;
  const model::Inventory inventory = Merge({OnBus(7, "nvidia")}, {file}, FactsWith(0, {missing}));
  ASSERT_EQ(inventory.gpus[0].faults.size(), 1U);
  EXPECT_EQ(inventory.gpus[0].faults[0].text,
            "the driver was told to leave it alone: take it out of the module parameter "
            "NVreg_ExcludedGpus and reload the driver");
}

TEST(SetAccess, LooksInstancesUpByTheGpusMinor) {
  model::Inventory inventory;
  model::Gpu gpu = Answering(7, 0);
  gpu.minor = model::DeviceMinor(4);
  gpu.mig = model::Mig{};
  model::GpuInstance instance;
  instance.id = model::GpuInstanceId(9);
  model::ComputeInstance compute;
  compute.id = model::ComputeInstanceId(0);
  instance.compute_instances = {compute};
  gpu.mig->instances = {instance};
  inventory.gpus = {gpu};
  const procfs::CapabilityMinors minors = {
      {{model::DeviceMinor(0), model::GpuInstanceId(9), std::nullopt}, model::CapabilityMinor(84)},
      {{model::DeviceMinor(4), model::GpuInstanceId(9), std::nullopt}, model::CapabilityMinor(624)},
      {{model::DeviceMinor(4), model::GpuInstanceId(9), model::ComputeInstanceId(0)},
       model::CapabilityMinor(625)}};
  SetAccess(minors, inventory);
  const model::GpuInstance& set = inventory.gpus[0].mig->instances[0];
  EXPECT_EQ(set.access, model::CapabilityMinor(624));
  EXPECT_EQ(set.compute_instances[0].access, model::CapabilityMinor(625));
}

}  // namespace
}  // namespace partita::hw
