// What the reader makes of simulated machines, each fact compared with the simulator's own. The
// library is loaded as a driver's would be.

#include "hw/inventory_reader.h"

#include <unistd.h>

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "model/inventory.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"
#include "sim/state/mig.h"
#include "tests/integration/inventory_looks.h"
#include "tests/integration/simulated_machine.h"

namespace partita::integration {
namespace {

using hw::InventoryReader;
using model::FaultKind;

model::PciAddress ToAddress(const sim::PciFunction& function) {
  return {.domain = function.domain,
          .bus = static_cast<std::uint8_t>(function.bus),
          .device = static_cast<std::uint8_t>(function.device),
          .function = 0};
}

std::optional<std::uint32_t> ToOptional(const sim::Fact& fact) {
  return fact.known != 0 ? std::optional(fact.value) : std::nullopt;
}

void ExpectBoard(const model::Gpu& gpu, const sim::Board& board, std::uint32_t index) {
  EXPECT_EQ(gpu.index, model::GpuIndex(index));
  EXPECT_EQ(gpu.minor, model::DeviceMinor(board.minor));
  EXPECT_EQ(gpu.uuid, model::GpuUuid(board.uuid));
  EXPECT_EQ(gpu.name, board.name);
  EXPECT_EQ(gpu.pci, ToAddress(board.pci));
  EXPECT_EQ(gpu.pci_device_id, board.pci_device_id);
  EXPECT_EQ(gpu.pci_subsystem_id, board.pci_subsystem_id);
  EXPECT_EQ(gpu.numa_node, board.numa_node < 0 ? std::nullopt : std::optional(board.numa_node));
  EXPECT_EQ(gpu.irq, ToOptional(board.irq));
  EXPECT_EQ(gpu.module_id, ToOptional(board.module_id));
  std::vector<model::PciAddress> bridges;
  for (std::uint32_t i = 0; i < board.bridge_count; ++i) {
    bridges.push_back(ToAddress(board.bridges[i]));
  }
  EXPECT_EQ(gpu.pci_path, bridges);
  EXPECT_EQ(static_cast<std::uint32_t>(gpu.architecture), board.architecture);
  EXPECT_EQ(gpu.compute_major, static_cast<int>(board.compute_major));
  EXPECT_EQ(gpu.compute_minor, static_cast<int>(board.compute_minor));
  EXPECT_EQ(gpu.cores, ToOptional(board.cores));
  ASSERT_TRUE(gpu.memory);
  EXPECT_EQ(gpu.memory->total.value(), board.memory_total);
  EXPECT_EQ(gpu.memory->reserved.value() + gpu.memory->used.value() + gpu.memory->free.value(),
            board.memory_total);
  EXPECT_EQ(gpu.ecc.has_value(), board.ecc.known != 0);
  EXPECT_EQ(gpu.addressing_mode, ToOptional(board.addressing_mode));
  EXPECT_EQ(gpu.mig.has_value(), board.mig_activation != sim::MigActivation::kNone);
}

void ExpectProfiles(const model::Mig& mig, const sim::Board& board) {
  ASSERT_EQ(mig.profiles.size(), board.gi_profile_count);
  EXPECT_EQ(mig.memory_slices, board.memory_slices);
  for (const model::GpuInstanceProfile& profile : mig.profiles) {
    const sim::GiProfile* expected = sim::FindGiProfile(board, profile.constant.value());
    ASSERT_NE(expected, nullptr);
    std::array<char, sim::kProfileNameSize> name{};
    sim::NameGiProfile(board, *expected, name.data());
    EXPECT_EQ(profile.name, name.data());
    EXPECT_EQ(profile.nvml_name, name.data());
    EXPECT_EQ(profile.id.value(), expected->id);
    EXPECT_EQ(profile.slice_count, expected->slice_count);
    EXPECT_EQ(profile.instance_count, expected->instance_count);
    EXPECT_EQ(profile.multiprocessors, expected->multiprocessors);
    EXPECT_EQ(profile.copy_engines, expected->copy_engines);
    EXPECT_EQ(profile.decoders, expected->decoders);
    EXPECT_EQ(profile.jpegs, expected->jpegs);
    EXPECT_EQ(profile.ofas, expected->ofas);
    EXPECT_EQ(profile.memory.value(), expected->memory_mb);
    ASSERT_EQ(profile.placements.size(), expected->placement_count);
    for (std::uint32_t i = 0; i < expected->placement_count; ++i) {
      EXPECT_EQ(profile.placements[i].start, expected->placement_starts[i]);
      EXPECT_EQ(profile.placements[i].size, expected->placement_size);
    }
  }
}

class EveryProfile : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryProfile, IsReadAsItIs) {
  const SimulatedMachine machine(GetParam());
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();

  ASSERT_TRUE(inventory.driver) << inventory.driver_error->ToString();
  EXPECT_EQ(inventory.driver->version, machine.machine().driver_version);
  EXPECT_EQ(inventory.driver->library_path, PARTITA_SIM_LIBRARY);
  EXPECT_EQ(inventory.generation, 1U);
  EXPECT_EQ(Problems(inventory), "");
  ASSERT_EQ(inventory.gpus.size(), machine.machine().gpu_count);
  for (std::uint32_t i = 0; i < machine.machine().gpu_count; ++i) {
    SCOPED_TRACE(i);
    const model::Gpu& gpu = inventory.gpus[i];
    ExpectBoard(gpu, machine.board(i), i);
    if (gpu.mig) ExpectProfiles(*gpu.mig, machine.board(i));
    EXPECT_FALSE(gpu.mig_error) << gpu.mig_error->ToString();
    EXPECT_FALSE(gpu.processes_error) << gpu.processes_error->ToString();
    EXPECT_TRUE(gpu.processes.empty());
    EXPECT_TRUE(gpu.readings.temperature.has_value() || machine.board(i).temp_idle.known == 0);
  }
}

TEST_P(EveryProfile, HasItsLinks) {
  const SimulatedMachine machine(GetParam());
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  const std::uint32_t count = machine.machine().gpu_count;
  ASSERT_EQ(inventory.links.size(), count * (count - 1) / 2);
  auto link = inventory.links.begin();
  for (std::uint32_t a = 0; a < count; ++a) {
    for (std::uint32_t b = a + 1; b < count; ++b, ++link) {
      EXPECT_EQ(link->a, ToAddress(machine.board(a).pci));
      EXPECT_EQ(link->b, ToAddress(machine.board(b).pci));
      EXPECT_EQ(link->path, static_cast<model::PathLevel>(machine.board(a).common_ancestor[b]));
    }
  }
  for (const model::SwitchLinks& links : inventory.switch_links) {
    EXPECT_GT(links.active, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes,
                         EveryProfile,
                         ::testing::Values("dgx-a100-40", "hgx-h200", "h200-vm", "mixed"));

TEST(Inventory, CountsNvLinksIntoSwitches) {
  const SimulatedMachine machine("dgx-a100-40");
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.switch_links.size(), 8U);
  for (const model::SwitchLinks& links : inventory.switch_links) {
    EXPECT_EQ(links.active, machine.board(0).link_count);
  }
}

TEST(Inventory, SeesMigDevicesOfEveryShape) {
  SimulatedMachine machine("dgx-a100-40");
  const std::uint32_t three = machine.MakeMigDevice(0, /* 3g */ 2, /* 2c */ 1);
  machine.MakeComputeInstance(0, three, /* 1c */ 0);
  const std::uint32_t one = machine.MakeMigDevice(0, /* 1g+me */ 7, 0);
  const sim::Board& board = machine.board(0);

  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  EXPECT_EQ(Problems(inventory), "");
  ASSERT_TRUE(inventory.gpus[0].mig);
  const model::Mig& mig = *inventory.gpus[0].mig;
  EXPECT_TRUE(mig.enabled);
  ASSERT_EQ(mig.instances.size(), 2U);
  const bool three_first = three < one;
  const model::GpuInstance& wide = mig.instances[three_first ? 0 : 1];
  const model::GpuInstance& small = mig.instances[three_first ? 1 : 0];

  EXPECT_EQ(wide.id.value(), three);
  EXPECT_EQ(wide.profile_name, "3g.20gb");
  EXPECT_EQ(wide.placement.size, 4U);
  EXPECT_EQ(wide.access, model::CapabilityMinor(sim::GpuInstanceMinor(board.minor, three)));
  ASSERT_TRUE(wide.memory);
  EXPECT_EQ(wide.memory->total.value(), 19968ULL << 20U);
  ASSERT_EQ(wide.compute_instances.size(), 2U);
  EXPECT_EQ(wide.compute_instances[0].name, "2c.3g.20gb");
  EXPECT_EQ(wide.compute_instances[0].slice_count, 2U);
  EXPECT_EQ(wide.compute_instances[1].name, "1c.3g.20gb");
  EXPECT_EQ(wide.compute_instances[1].multiprocessors, 14U);
  EXPECT_EQ(wide.compute_instances[1].placement, (model::Placement{.start = 2, .size = 1}));

  EXPECT_EQ(small.profile_name, "1g.5gb+me");
  ASSERT_EQ(small.compute_instances.size(), 1U);
  EXPECT_EQ(small.compute_instances[0].name, "1g.5gb+me");
  EXPECT_EQ(small.compute_instances[0].access,
            model::CapabilityMinor(sim::ComputeInstanceMinor(board.minor, one, 0)));

  std::uint32_t slot = 0;
  for (const model::GpuInstance& instance : mig.instances) {
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      std::array<char, sim::kUuidSize> uuid{};
      sim::NameMigDevice(board, instance.id.value(), compute.id.value(), uuid.data());
      EXPECT_EQ(compute.uuid, model::MigUuid(uuid.data()));
      EXPECT_EQ(compute.slot, slot++) << "slots ascend by GPU instance, then compute instance";
    }
  }
  EXPECT_FALSE(inventory.gpus[1].mig->enabled);
}

TEST(Inventory, SaysHowManyMoreInstancesFit) {
  SimulatedMachine machine("h200-vm");
  InventoryReader reader(machine.Options());
  EXPECT_EQ(reader.Read().gpus[0].mig->profiles[0].remaining, std::nullopt) << "MIG is off";
  machine.MakeMigDevice(0, /* 3g */ 2, /* 3c */ 2);
  const model::Inventory inventory = reader.Read();
  for (const model::GpuInstanceProfile& profile : inventory.gpus[0].mig->profiles) {
    machine.store().Read([&](const sim::Slot& slot) {
      EXPECT_EQ(profile.remaining,
                sim::RemainingGpuInstances(
                    machine.board(0), slot.gpus[0],
                    *sim::FindGiProfile(machine.board(0), profile.constant.value())))
          << profile.name;
      return 0;
    });
  }
}

TEST(Inventory, KeepsAGpuInstanceWithoutComputeInstances) {
  SimulatedMachine machine("h200-vm");
  const std::uint32_t id = machine.MakeMigDevice(0, /* 2g */ 1, /* 2c */ 1);
  machine.Change([id](const sim::Machine&, sim::Slot& slot) {
    sim::DestroyComputeInstance(slot.gpus[0].instances[id], 0);
  });
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.gpus[0].mig->instances.size(), 1U);
  const model::GpuInstance& instance = inventory.gpus[0].mig->instances[0];
  EXPECT_TRUE(instance.compute_instances.empty());
  EXPECT_EQ(instance.memory, std::nullopt);
}

TEST(Inventory, NamesWhoUsesAGpu) {
  SimulatedMachine machine("dgx-a100-40");
  sim::Holder holder{};
  holder.kind = sim::HolderKind::kCompute;
  holder.gpu = 3;
  holder.gpu_instance = holder.compute_instance = sim::kNone;
  holder.memory_bytes = 1ULL << 30U;
  holder.utilization = 50;
  int fd = -1;
  ASSERT_EQ(
      sim::HoldAsSelf(machine.store(), (machine.root() + "/sim/holders").c_str(), holder, &fd), 0);
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.gpus[3].processes.size(), 1U);
  const model::Process& process = inventory.gpus[3].processes[0];
  EXPECT_EQ(process.pid.value(), getpid());
  EXPECT_EQ(process.kind, model::ProcessKind::kCompute);
  EXPECT_GE(process.memory->value(), 1ULL << 30U);
  EXPECT_NE(process.name, "");
  EXPECT_EQ(process.gpu_instance, std::nullopt);
  EXPECT_TRUE(inventory.gpus[2].processes.empty());
}

TEST(Inventory, ListsALostGpuWithWhatIsStillKnownOfIt) {
  SimulatedMachine machine("dgx-a100-40");
  machine.Change([](const sim::Machine&, sim::Slot& slot) { sim::LoseGpu(slot, 2); });
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.gpus.size(), 8U);
  const model::Gpu& lost = inventory.gpus[2];
  EXPECT_EQ(lost.index, model::GpuIndex(2));
  EXPECT_EQ(lost.pci, ToAddress(machine.board(2).pci));
  EXPECT_EQ(lost.uuid, model::GpuUuid(machine.board(2).uuid)) << "from the driver's files";
  EXPECT_EQ(lost.numa_node, machine.board(2).numa_node);
  ASSERT_EQ(lost.faults.size(), 1U) << Problems(inventory);
  EXPECT_EQ(lost.faults[0].kind, FaultKind::kLost);
  EXPECT_EQ(lost.faults[0].text,
            "fell off the bus: stop its workloads and reboot the node; if it happens again, have "
            "the GPU replaced");
  for (const std::uint32_t i : {0U, 1U, 3U, 7U})
    ExpectBoard(inventory.gpus[i], machine.board(i), i);
  EXPECT_TRUE(inventory.problems.empty()) << Problems(inventory);
  EXPECT_EQ(inventory.links.size(), 7U * 6U / 2U);
}

TEST(Inventory, SeesGpusThatBelongToVirtualMachines) {
  SimulatedMachine machine("dgx-a100-40");
  InventoryReader reader(machine.Options());
  ASSERT_EQ(reader.Read().gpus.size(), 8U);
  machine.Change([](const sim::Machine&, sim::Slot& slot) {
    slot.gpus[1].pci_driver = sim::PciDriver::kVfio;
    slot.gpus[4].pci_driver = sim::PciDriver::kUnbound;
  });
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.gpus.size(), 6U) << "the same reader sees the change";
  EXPECT_EQ(inventory.gpus[1].uuid, model::GpuUuid(machine.board(2).uuid));
  EXPECT_EQ(inventory.gpus[1].index, model::GpuIndex(1)) << "the driver counts anew";
  ASSERT_EQ(inventory.vfio.size(), 1U);
  EXPECT_EQ(inventory.vfio[0].pci, ToAddress(machine.board(1).pci));
  EXPECT_EQ(inventory.vfio[0].pci_device_id, machine.board(1).pci_device_id);
  ASSERT_EQ(inventory.problems.size(), 1U);
  EXPECT_EQ(inventory.problems[0].gpu, ToAddress(machine.board(4).pci).ToString());
}

TEST(Inventory, FollowsTheDriverThroughUnloadingAndLoading) {
  SimulatedMachine machine("dgx-a100-40");
  InventoryReader reader(machine.Options());
  ASSERT_TRUE(reader.Read().driver);
  machine.Change(
      [](const sim::Machine& fixed, sim::Slot& slot) { sim::ReloadDriver(fixed, slot); });
  EXPECT_EQ(Problems(reader.Read()), "") << "a session of before the reload is replaced";

  machine.Change(
      [](const sim::Machine& fixed, sim::Slot& slot) { sim::UnloadDriver(fixed, slot); });
  const model::Inventory without = reader.Read();
  EXPECT_EQ(without.driver, std::nullopt);
  ASSERT_TRUE(without.driver_error);
  EXPECT_EQ(without.driver_error->native(),
            (base::NativeCode{base::NativeKind::kNvml, /* DRIVER_NOT_LOADED */ 9}));

  machine.Change([](const sim::Machine& fixed, sim::Slot& slot) { sim::LoadDriver(fixed, slot); });
  const model::Inventory after = reader.Read();
  EXPECT_EQ(Problems(after), "");
  EXPECT_EQ(after.gpus.size(), 8U);
  EXPECT_EQ(after.generation, 4U);
}

TEST(Inventory, ReadsWithoutABusWhatTheLibraryKnows) {
  const SimulatedMachine machine("mixed");
  hw::ReaderOptions options = machine.Options();
  options.root = machine.root() + "/nowhere";
  InventoryReader reader(options);
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.gpus.size(), 3U);
  EXPECT_EQ(Problems(inventory), "");
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(inventory.gpus[i].index, model::GpuIndex(i));
    EXPECT_EQ(inventory.gpus[i].uuid, model::GpuUuid(machine.board(i).uuid));
  }
}

TEST(Inventory, LeavesReadingsOutWhenNotAsked) {
  const SimulatedMachine machine("h200-vm");
  hw::ReaderOptions options = machine.Options();
  options.readings = false;
  InventoryReader reader(options);
  const model::Inventory inventory = reader.Read();
  EXPECT_EQ(inventory.gpus[0].readings, model::Readings{});
  EXPECT_TRUE(inventory.gpus[0].memory);
}

TEST(Inventory, OpensTheDriverAgainAfterRelease) {
  const SimulatedMachine machine("h200-vm");
  InventoryReader reader(machine.Options());
  const model::Inventory first = reader.Read();
  EXPECT_TRUE(reader.Release().ok());
  EXPECT_TRUE(reader.Release().ok());
  const model::Inventory second = reader.Read();
  EXPECT_EQ(Problems(second), "");
  EXPECT_EQ(first.gpus[0].uuid, second.gpus[0].uuid);
}

}  // namespace
}  // namespace partita::integration
