#include "sim/state/use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "sim/state/holders.h"
#include "sim/state/test_node.h"

namespace partita::sim {
namespace {

constexpr uint64_t kGibibyte = uint64_t{1} << 30;

Holder Process(HolderKind kind, uint64_t bytes) {
  Holder holder{};
  holder.kind = kind;
  holder.gpu_instance = holder.compute_instance = kNone;
  holder.memory_bytes = bytes;
  return holder;
}

class Use : public testing::Test {
 protected:
  Use() : node_("h200-vm"), holders_(OpenHolders(node_.root().c_str())) {}

  UseStatus Begin(const Holder& description) {
    return BeginUse(node_.store(), holders_, description, &index_);
  }
  // The same by a process of its own, which then ends.
  UseStatus BeginElsewhere(const Holder& description) {
    return static_cast<UseStatus>(StatusOf(InChild([&] {
      uint32_t index = 0;
      return static_cast<int>(BeginUse(node_.store(), holders_, description, &index));
    })));
  }
  void SetComputeMode(uint32_t mode) {
    node_.Change([&](Slot& slot) { slot.gpus[0].compute_mode = mode; });
  }
  Room RoomNow() const {
    const Slot slot = node_.Snapshot();
    return RoomOn(node_.machine(), slot, 0, kNone);
  }

  NodeDirectory node_;
  int holders_;
  uint32_t index_ = 0;
};

TEST_F(Use, TakesMemoryAndGivesItBack) {
  const uint64_t all = RoomNow().free;
  EXPECT_EQ(all, uint64_t{150109880320});
  ASSERT_EQ(Begin(Process(HolderKind::kCompute, kGibibyte)), UseStatus::kDone);
  EXPECT_EQ(RoomNow().free, all - kGibibyte);
  EXPECT_EQ(SetUsedMemory(node_.store(), index_, 3 * kGibibyte), UseStatus::kDone);
  EXPECT_EQ(RoomNow().free, all - 3 * kGibibyte);
  EXPECT_EQ(SetUsedMemory(node_.store(), index_, all + 1), UseStatus::kNoMemory);
  EXPECT_EQ(SetUsedMemory(node_.store(), index_, all), UseStatus::kDone);
  EXPECT_EQ(BeginElsewhere(Process(HolderKind::kCompute, 1)), UseStatus::kNoMemory);
  EndUse(node_.store(), holders_, index_);
  EXPECT_EQ(RoomNow().free, all);
  EXPECT_EQ(SetUsedMemory(node_.store(), index_, 1), UseStatus::kGone);
}

TEST_F(Use, OfTheDeadIsOver) {
  const uint64_t all = RoomNow().free;
  EXPECT_EQ(BeginElsewhere(Process(HolderKind::kCompute, all)), UseStatus::kDone);
  EXPECT_EQ(Begin(Process(HolderKind::kCompute, all)), UseStatus::kDone);
}

TEST_F(Use, FollowsTheComputeMode) {
  SetComputeMode(kComputeProhibited);
  EXPECT_EQ(Begin(Process(HolderKind::kCompute, 0)), UseStatus::kProhibited);
  EXPECT_EQ(Begin(Process(HolderKind::kMps, 0)), UseStatus::kProhibited);
  SetComputeMode(kComputeExclusiveProcess);
  ASSERT_EQ(Begin(Process(HolderKind::kCompute, 0)), UseStatus::kDone);
  EXPECT_EQ(BeginElsewhere(Process(HolderKind::kCompute, 0)), UseStatus::kTaken);
  EXPECT_EQ(BeginElsewhere(Process(HolderKind::kMps, 0)), UseStatus::kDone);
  SetComputeMode(0);
  EXPECT_EQ(BeginElsewhere(Process(HolderKind::kCompute, 0)), UseStatus::kDone);
}

TEST_F(Use, NeedsTheDriverTheGpuAndASliceWhereMigIsOn) {
  node_.Change([](Slot& slot) { slot.gpus[0].mig_current = 1; });
  EXPECT_EQ(Begin(Process(HolderKind::kCompute, 0)), UseStatus::kGone);
  node_.Change([](Slot& slot) {
    slot.gpus[0].mig_current = 0;
    slot.gpus[0].lost = 1;
  });
  EXPECT_EQ(Begin(Process(HolderKind::kCompute, 0)), UseStatus::kGone);
  node_.Change([](Slot& slot) {
    slot.gpus[0].lost = 0;
    slot.driver_loaded = 0;
  });
  EXPECT_EQ(Begin(Process(HolderKind::kCompute, 0)), UseStatus::kGone);
}

}  // namespace
}  // namespace partita::sim
