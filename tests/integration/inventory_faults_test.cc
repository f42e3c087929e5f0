// What the reader makes of simulated machines whose GPUs or driver are broken, fail or hang.

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "hw/inventory_reader.h"
#include "model/inventory.h"
#include "tests/integration/inventory_looks.h"
#include "tests/integration/simulated_machine.h"

namespace partita::integration {
namespace {

using hw::InventoryReader;
using model::FaultKind;

TEST(Inventory, ReportsTheRecoveryActionThatTheDriverAsksFor) {
  SimulatedMachine machine("h200-vm");
  machine.Change([](const sim::Machine&, sim::Slot& slot) { slot.gpus[0].recovery_action = 2; });
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.gpus[0].faults.size(), 1U);
  EXPECT_EQ(inventory.gpus[0].faults[0].kind, FaultKind::kRecoveryAction);
  EXPECT_EQ(inventory.gpus[0].faults[0].text,
            "the driver asks for a reboot of the node: drain it, then reboot (recovery action 2)");
}

TEST(Inventory, ReportsMemoryThatCannotBeTrusted) {
  SimulatedMachine machine("dgx-a100-40");
  machine.Change([](const sim::Machine&, sim::Slot& slot) {
    slot.gpus[1].ecc_volatile[1] = 2;
    slot.gpus[1].ecc_aggregate[1] = 5;
    slot.gpus[2].rows_uncorrected = 1;
    slot.gpus[2].rows_pending = 1;
    slot.gpus[3].rows_failed = 1;
    slot.gpus[4].ecc_aggregate[1] = 1;  // of a time that is over
  });
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  const auto faults = [&](std::size_t gpu) { return inventory.gpus[gpu].faults; };
  EXPECT_TRUE(faults(0).empty());
  EXPECT_EQ(inventory.gpus[0].uncorrected_errors, model::UncorrectedErrors());
  EXPECT_EQ(inventory.gpus[0].row_remapping, model::RowRemapping());
  EXPECT_EQ(inventory.gpus[1].uncorrected_errors, (model::UncorrectedErrors{2, 5}));
  EXPECT_EQ(faults(1), (std::vector<model::Fault>{
                           {FaultKind::kMemoryErrors,
                            "2 uncorrected since its last reset, so that results of that time are "
                            "in doubt: stop its workloads, then nvidia-smi -r -i 1"}}));
  EXPECT_EQ(inventory.gpus[2].row_remapping, (model::RowRemapping{0, 1, true, false}));
  EXPECT_EQ(faults(2), (std::vector<model::Fault>{
                           {FaultKind::kRemapPending,
                            "a bad row of memory is replaced at the next reset: once the GPU is "
                            "idle, nvidia-smi -r -i 2"}}));
  ASSERT_EQ(faults(3).size(), 1U);
  EXPECT_EQ(faults(3)[0].kind, FaultKind::kRemapFailed);
  EXPECT_TRUE(faults(4).empty());
}

TEST(Inventory, ACallThatFailsCostsOneReadingOfOneGpu) {
  SimulatedMachine machine("dgx-a100-40");
  machine.FailCall("nvmlDeviceGetTemperature", 5, 999);
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.problems.size(), 1U);
  EXPECT_EQ(inventory.problems[0].gpu, "5");
  EXPECT_EQ(inventory.problems[0].error.ToString(),
            "nvmlDeviceGetTemperature: Unknown Error (NVML 999)");
  EXPECT_EQ(inventory.gpus[5].readings.temperature, std::nullopt);
  EXPECT_TRUE(inventory.gpus[5].readings.power);
  EXPECT_TRUE(inventory.gpus[5].faults.empty());
  EXPECT_TRUE(inventory.gpus[4].readings.temperature);
}

TEST(Inventory, AGpuThatNeedsAResetIsReadAsFarAsItGoes) {
  SimulatedMachine machine("mixed");
  machine.FailCall("nvmlDeviceGetUtilizationRates", 2, /* RESET_REQUIRED */ 16);
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.gpus[2].faults.size(), 1U);
  EXPECT_EQ(inventory.gpus[2].faults[0].kind, FaultKind::kResetRequired);
  EXPECT_TRUE(inventory.gpus[2].memory);
  EXPECT_TRUE(inventory.problems.empty()) << Problems(inventory);
}

TEST(Inventory, AGpuThatCannotBeLookedUpIsUnreadable) {
  SimulatedMachine machine("mixed");
  machine.FailCall("nvmlDeviceGetHandleByPciBusId_v2", sim::kNone, /* NO_PERMISSION */ 4, 1);
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.gpus.size(), 3U);
  ASSERT_EQ(inventory.gpus[0].faults.size(), 1U);
  EXPECT_EQ(inventory.gpus[0].faults[0].kind, FaultKind::kUnreadable);
  EXPECT_EQ(inventory.gpus[0].faults[0].text,
            "cannot be read: nvmlDeviceGetHandleByPciBusId_v2: Insufficient Permissions (NVML 4): "
            "run it as root, or grant this process the device nodes");
}

TEST(Inventory, AGpuWithoutItsUuidIsUnreadableButKeepsTheRest) {
  SimulatedMachine machine("mixed");
  machine.FailCall("nvmlDeviceGetUUID", 1, 999);
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  const model::Gpu& gpu = inventory.gpus[1];
  ASSERT_EQ(gpu.faults.size(), 1U);
  EXPECT_EQ(gpu.faults[0].kind, FaultKind::kUnreadable);
  EXPECT_EQ(gpu.uuid, model::GpuUuid(machine.board(1).uuid)) << "from the driver's files";
  EXPECT_TRUE(gpu.memory);
  EXPECT_TRUE(inventory.gpus[0].faults.empty());
}

TEST(Inventory, AHungCallKeepsNobodyWaiting) {
  SimulatedMachine machine("dgx-a100-40");
  machine.HangCall("nvmlDeviceGetTemperature", 3);
  hw::ReaderOptions options = machine.Options();
  options.deadline = std::chrono::milliseconds(1000);
  InventoryReader reader(options);
  const model::Inventory inventory = reader.Read();
  ASSERT_EQ(inventory.gpus.size(), 8U);
  const model::Gpu& hung = inventory.gpus[3];
  ASSERT_EQ(hung.faults.size(), 1U) << Problems(inventory);
  EXPECT_EQ(hung.faults[0].kind, FaultKind::kHung);
  EXPECT_EQ(hung.faults[0].text,
            "nvmlDeviceGetTemperature did not come back within 1 s: see the kernel log, then reset "
            "the GPU or reboot the node");
  EXPECT_EQ(hung.uuid, model::GpuUuid(machine.board(3).uuid)) << "read before the hang";
  EXPECT_TRUE(hung.mig) << "read before the hang";
  EXPECT_TRUE(hung.processes_error) << "nobody knows who uses it";
  EXPECT_TRUE(inventory.gpus[4].readings.temperature);

  // It is left alone from now on, and still listed.
  const model::Inventory again = reader.Read();
  ASSERT_EQ(again.gpus[3].faults.size(), 1U);
  EXPECT_EQ(again.gpus[3].faults[0].text,
            "a driver call has not come back: see the kernel log, then reset the GPU or reboot the "
            "node");
  EXPECT_EQ(again.gpus[3].index, model::GpuIndex(3));
  EXPECT_EQ(again.gpus[3].uuid, model::GpuUuid(machine.board(3).uuid));

  // Once the call comes back, so does the GPU.
  machine.ClearCallFaults();
  const model::Inventory healed =
      ReadUntil(reader, "GPU 3 without a fault",
                [](const model::Inventory& now) { return now.gpus[3].faults.empty(); });
  EXPECT_TRUE(healed.gpus[3].readings.temperature);
}

TEST(Inventory, ADriverThatHangsAtInitIsSaidToHang) {
  SimulatedMachine machine("dgx-a100-40");
  machine.HangCall("nvmlInit_v2", sim::kNone);
  hw::ReaderOptions options = machine.Options();
  options.attach_deadline = std::chrono::milliseconds(100);
  InventoryReader reader(options);
  const model::Inventory inventory = reader.Read();
  EXPECT_EQ(inventory.driver, std::nullopt);
  ASSERT_TRUE(inventory.driver_error);
  EXPECT_EQ(inventory.driver_error->code(), base::ErrorCode::kTimeout);
  ASSERT_EQ(inventory.gpus.size(), 8U);
  EXPECT_EQ(inventory.gpus[0].faults[0].kind, FaultKind::kHung);
  machine.ClearCallFaults();
  ReadUntil(reader, "the driver",
            [](const model::Inventory& now) { return now.driver.has_value(); });
}

TEST(Inventory, ADriverThatHangsWithoutAGpuHangsAllOfThem) {
  SimulatedMachine machine("mixed");
  InventoryReader reader([&] {
    hw::ReaderOptions options = machine.Options();
    options.deadline = std::chrono::milliseconds(1000);
    return options;
  }());
  EXPECT_EQ(Problems(reader.Read()), "");
  machine.HangCall("nvmlDeviceGetCount_v2", sim::kNone);
  const model::Inventory inventory = reader.Read();
  ASSERT_TRUE(inventory.driver) << "it was there when it was opened";
  ASSERT_EQ(inventory.gpus.size(), 3U);
  for (const model::Gpu& gpu : inventory.gpus) {
    ASSERT_EQ(gpu.faults.size(), 1U);
    EXPECT_EQ(gpu.faults[0].kind, FaultKind::kHung);
    EXPECT_TRUE(gpu.uuid) << "from the driver's files";
  }
  machine.ClearCallFaults();
  ReadUntil(reader, "no problem", [](const model::Inventory& now) { return Problems(now) == ""; });
}

TEST(Inventory, SaysThatLibraryAndModuleDiffer) {
  SimulatedMachine machine("h200-vm");
  machine.Change([](const sim::Machine&, sim::Slot& slot) { slot.version_mismatch = 1; });
  InventoryReader reader(machine.Options());
  const model::Inventory inventory = reader.Read();
  ASSERT_TRUE(inventory.driver_error);
  EXPECT_EQ(inventory.driver_error->ToString(),
            "with kernel module 580.159.04 loaded: nvmlInit_v2: Driver/library version mismatch "
            "(NVML 18)");
  ASSERT_EQ(inventory.gpus.size(), 1U) << "the bus and the driver's files still know it";
  EXPECT_EQ(inventory.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(inventory.gpus[0].faults[0].kind, FaultKind::kUnreadable);
}

}  // namespace
}  // namespace partita::integration
