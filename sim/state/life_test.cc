#include "sim/state/life.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/state/mig.h"
#include "sim/state/test_node.h"

namespace partita::sim {
namespace {

// A node with one GPU in use: MIG on with an instance, settings changed, counters moved.
struct Used {
  explicit Used(std::string_view profile) : loaded(LoadProfile(profile)), slot(*loaded.slot) {
    Gpu& gpu = slot.gpus[0];
    gpu.mig_current = gpu.mig_pending = 1;
    uint32_t id = 0;
    const GiProfile* one = FindGiProfile(machine().boards[0], 0);
    EXPECT_EQ(CreateGpuInstance(machine().boards[0], gpu, *one, kNone, 1, &id), MigStatus::kDone);
    gpu.compute_mode = 3;
    gpu.power_limit_mw = 300000;
    gpu.timeslice = 2;
    gpu.ecc_volatile[0] = 5;
    gpu.ecc_aggregate[0] = 6;
    gpu.reset_required = 1;
    gpu.recovery_action = 1;
    slot.holders[3].live = 1;
    slot.holders[3].gpu = 0;
  }
  const Machine& machine() const { return *loaded.machine; }
  Gpu& gpu() { return slot.gpus[0]; }

  Loaded loaded;
  Slot slot;
};

TEST(ResetGpu, AppliesWhatIsPendingAndKeepsTheMode) {
  for (const char* profile : {"dgx-a100-40", "h200-vm"}) {
    Used node(profile);
    ASSERT_TRUE(ResetGpu(node.machine(), node.slot, 0));
    EXPECT_EQ(node.gpu().mig_current, 1U) << profile;
    EXPECT_EQ(CountGpuInstances(node.gpu()), 0U) << profile;
    EXPECT_EQ(node.gpu().ecc_volatile[0], 0U) << profile;
    EXPECT_EQ(node.gpu().ecc_aggregate[0], 6U) << profile;
    EXPECT_EQ(node.gpu().recovery_action, 0U) << profile;
    EXPECT_EQ(node.gpu().compute_mode, 3U) << profile;
    EXPECT_EQ(node.gpu().resets, 1U) << profile;
    EXPECT_EQ(node.slot.holders[3].live, 0U) << profile;
  }
  Used pending("dgx-a100-40");
  pending.gpu().mig_pending = 0;
  ASSERT_TRUE(ResetGpu(pending.machine(), pending.slot, 0));
  EXPECT_EQ(pending.gpu().mig_current, 0U);
}

TEST(FailWithXid, CountsAnErrorOfMemoryUntilAReset) {
  Used node("dgx-a100-40");
  FailWithXid(node.slot, 0, 95);
  FailWithXid(node.slot, 0, 31);
  EXPECT_EQ(node.gpu().ecc_volatile[1], 1U);
  EXPECT_EQ(node.gpu().ecc_aggregate[1], 1U);
  ASSERT_TRUE(ResetGpu(node.machine(), node.slot, 0));
  EXPECT_EQ(node.gpu().ecc_volatile[1], 0U);
  EXPECT_EQ(node.gpu().ecc_aggregate[1], 1U);
}

TEST(ResetGpu, CannotReachALostGpu) {
  Used node("h200-vm");
  LoseGpu(node.slot, 0);
  EXPECT_FALSE(ResetGpu(node.machine(), node.slot, 0));
  EXPECT_EQ(node.gpu().lost, 1U);
}

TEST(ReloadDriver, KeepsTheModeOnTheBoardBeforeHopperOnly) {
  for (const auto& [profile, mode] : {std::pair{"dgx-a100-40", 1U}, std::pair{"h200-vm", 0U}}) {
    Used node(profile);
    const uint64_t loads = node.slot.driver_loads;
    ReloadDriver(node.machine(), node.slot);
    EXPECT_EQ(node.gpu().mig_current, mode) << profile;
    EXPECT_EQ(node.gpu().mig_pending, mode) << profile;
    EXPECT_EQ(CountGpuInstances(node.gpu()), 0U) << profile;
    EXPECT_EQ(node.gpu().compute_mode, 0U) << profile;
    EXPECT_EQ(node.gpu().power_limit_mw, 0U) << profile;
    EXPECT_EQ(node.slot.driver_loads, loads + 1) << profile;
    EXPECT_EQ(node.slot.driver_loaded, 1U) << profile;
  }
}

TEST(UnloadDriver, LeavesNoDriver) {
  Used node("h200-vm");
  UnloadDriver(node.machine(), node.slot);
  EXPECT_EQ(node.slot.driver_loaded, 0U);
  EXPECT_EQ(node.slot.holders[3].live, 0U);
}

TEST(Reboot, HasANewBootIdAndFindsLostGpusAgain) {
  Used node("dgx-a100-40");
  LoseGpu(node.slot, 0);
  node.slot.gpus[1].pci_driver = PciDriver::kVfio;
  node.slot.call_faults[0].live = 1;
  const std::string before = node.slot.boot_id;
  const uint64_t boot = node.slot.boot;
  Reboot(node.machine(), node.slot);
  EXPECT_EQ(node.slot.boot, boot + 1);
  EXPECT_NE(before, node.slot.boot_id);
  EXPECT_EQ(std::string(node.slot.boot_id).size(), 36U);
  EXPECT_EQ(node.gpu().lost, 0U);
  EXPECT_EQ(node.gpu().mig_current, 1U);
  EXPECT_EQ(node.slot.gpus[1].pci_driver, PciDriver::kNvidia);
  EXPECT_EQ(node.slot.call_faults[0].live, 0U);
}

TEST(AddEvent, NumbersWithoutGapsAndKeepsTheNewest) {
  Used node("h200-vm");
  const uint64_t first = node.slot.next_event;
  for (uint64_t i = 0; i < kMaxEvents + 5; ++i) AddXid(node.slot, 0, i, 2, kNone);
  EXPECT_EQ(node.slot.next_event, first + kMaxEvents + 5);
  const Event& last = node.slot.events[(node.slot.next_event - 1) % kMaxEvents];
  EXPECT_EQ(last.sequence, node.slot.next_event - 1);
  EXPECT_EQ(last.data, kMaxEvents + 4);
  EXPECT_EQ(last.type, kEventXid);
  EXPECT_EQ(last.gpu_instance, 2U);
  EXPECT_EQ(last.compute_instance, kNone);
}

}  // namespace
}  // namespace partita::sim
