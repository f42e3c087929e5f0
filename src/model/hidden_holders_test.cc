#include "model/hidden_holders.h"

#include <gtest/gtest.h>

namespace partita::model {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

Memory Used(std::uint64_t mebibytes) {
  Memory memory;
  memory.used = Bytes(mebibytes * kMebibyte);
  return memory;
}

Process Holding(std::int64_t pid,
                std::optional<std::uint64_t> mebibytes,
                std::optional<std::uint32_t> instance = std::nullopt) {
  Process process;
  process.pid = Pid(pid);
  if (mebibytes) process.memory = Bytes(*mebibytes * kMebibyte);
  if (instance) process.gpu_instance = GpuInstanceId(*instance);
  return process;
}

// An instance of so many slices, with so much in use.
void AddInstance(Gpu& gpu, std::uint32_t id, std::uint32_t slices, std::uint64_t mebibytes) {
  if (!gpu.mig) gpu.mig.emplace();
  gpu.mig->enabled = gpu.mig->pending_enabled = true;
  GpuInstanceProfile profile;
  profile.id = ProfileId(slices);
  profile.slice_count = slices;
  gpu.mig->profiles.push_back(profile);
  GpuInstance instance;
  instance.id = GpuInstanceId(id);
  instance.profile = profile.id;
  instance.memory = Used(mebibytes);
  gpu.mig->instances.push_back(instance);
}

// The figures are those of docs/hardware/h200/mig-memory.txt.
TEST(HiddenHolders, AreNobodyOnAnIdleGpu) {
  Gpu gpu;
  gpu.memory = Used(0);
  EXPECT_TRUE(HiddenHolders(gpu).empty());
  gpu.memory = Used(102);
  AddInstance(gpu, 1, 4, 58);
  AddInstance(gpu, 2, 3, 44);
  EXPECT_TRUE(HiddenHolders(gpu).empty());
  // Without a compute instance nobody is told how much of an instance is in use.
  for (GpuInstance& instance : gpu.mig->instances) instance.memory.reset();
  EXPECT_TRUE(HiddenHolders(gpu).empty());
}

TEST(HiddenHolders, AreNobodyBesideThoseWhoAreListed) {
  Gpu gpu;
  gpu.memory = Used(529);
  gpu.processes = {Holding(479, 520)};
  EXPECT_TRUE(HiddenHolders(gpu).empty());
  gpu.memory = Used(127);
  AddInstance(gpu, 11, 1, 112);
  AddInstance(gpu, 13, 1, 15);
  gpu.processes = {Holding(759, 90, 11)};
  EXPECT_TRUE(HiddenHolders(gpu).empty());
}

// As much as is in use although nobody is there, and a mebibyte more.
TEST(HiddenHolders, BeginAboveWhatIsInUseAnyway) {
  using Hidden = std::vector<HiddenHolder>;
  Gpu gpu;
  gpu.memory = Used(64);
  EXPECT_EQ(HiddenHolders(gpu), Hidden{});
  gpu.memory = Used(65);
  EXPECT_EQ(HiddenHolders(gpu), (Hidden{{std::nullopt, Bytes(65 * kMebibyte)}}));

  // Each process holds up to 16 MiB more than it says.
  gpu.processes = {Holding(7, 1000), Holding(8, 100)};
  gpu.memory = Used(1100 + 64 + 2 * 16);
  EXPECT_EQ(HiddenHolders(gpu), Hidden{});
  gpu.memory = Used(1100 + 64 + 2 * 16 + 1);
  EXPECT_EQ(HiddenHolders(gpu), (Hidden{{std::nullopt, Bytes(97 * kMebibyte)}}));
}

TEST(HiddenHolders, BeginAboveWhatIsInUseAnywayInAnInstance) {
  using Hidden = std::vector<HiddenHolder>;
  const auto with = [](std::uint32_t slices, std::uint64_t mebibytes) {
    Gpu gpu;
    gpu.memory = Used(mebibytes);
    AddInstance(gpu, 5, slices, mebibytes);
    return gpu;
  };
  EXPECT_EQ(HiddenHolders(with(1, 32 + 16)), Hidden{});
  EXPECT_EQ(HiddenHolders(with(1, 32 + 16 + 1)),
            (Hidden{{GpuInstanceId(5), Bytes(49 * kMebibyte)}}));
  EXPECT_EQ(HiddenHolders(with(3, 32 + 3 * 16)), Hidden{});
  EXPECT_EQ(HiddenHolders(with(3, 32 + 3 * 16 + 1)),
            (Hidden{{GpuInstanceId(5), Bytes(81 * kMebibyte)}}));

  Gpu gpu = with(1, 200 + 32 + 16 + 16);
  gpu.processes = {Holding(7, 200, 5)};
  EXPECT_EQ(HiddenHolders(gpu), Hidden{});
  gpu = with(1, 200 + 32 + 16 + 16 + 1);
  gpu.processes = {Holding(7, 200, 5)};
  EXPECT_EQ(HiddenHolders(gpu), (Hidden{{GpuInstanceId(5), Bytes(65 * kMebibyte)}}));

  // Of one that nobody counts its slices are the GPU's.
  gpu = with(1, 64 + 16);
  gpu.mig->instances[0].memory.reset();
  EXPECT_EQ(HiddenHolders(gpu), Hidden{});
  gpu.memory = Used(64 + 16 + 1);
  EXPECT_EQ(HiddenHolders(gpu), (Hidden{{std::nullopt, Bytes(81 * kMebibyte)}}));
}

TEST(HiddenHolders, HoldWhatNobodyListedExplains) {
  Gpu gpu;
  gpu.memory = Used(529);
  EXPECT_EQ(HiddenHolders(gpu),
            (std::vector<HiddenHolder>{{std::nullopt, Bytes(529 * kMebibyte)}}));
  gpu.memory = Used(3584);
  gpu.processes = {Holding(7, 1550)};
  EXPECT_EQ(HiddenHolders(gpu),
            (std::vector<HiddenHolder>{{std::nullopt, Bytes(2034 * kMebibyte)}}));
}

TEST(HiddenHolders, AreKnownByTheirInstance) {
  Gpu gpu;
  gpu.memory = Used(127);
  AddInstance(gpu, 11, 1, 112);
  AddInstance(gpu, 13, 1, 15);
  EXPECT_EQ(HiddenHolders(gpu),
            (std::vector<HiddenHolder>{{GpuInstanceId(11), Bytes(112 * kMebibyte)}}));
  gpu.processes = {Holding(759, 90, 13)};  // explains nothing in the other
  EXPECT_EQ(HiddenHolders(gpu).size(), 1U);
}

TEST(HiddenHolders, MayBeAListedProcessThatDoesNotSay) {
  Gpu gpu;
  gpu.memory = Used(3584);
  gpu.processes = {Holding(7, std::nullopt)};
  EXPECT_TRUE(HiddenHolders(gpu).empty());
}

TEST(HiddenHolders, AreNotExplainedTwiceByOne) {
  Gpu gpu;
  gpu.memory = Used(2048);
  gpu.processes = {Holding(7, 1024), Holding(7, 1024)};
  EXPECT_EQ(HiddenHolders(gpu),
            (std::vector<HiddenHolder>{{std::nullopt, Bytes(1024 * kMebibyte)}}));
}

// Version 1 of the call counts the driver's own 616 MiB of an idle H200.
TEST(HiddenHolders, CannotBeToldWhereTheReserveCountsAsUsed) {
  Gpu gpu;
  gpu.memory = Used(616);
  gpu.memory->used_counts_reserve = true;
  EXPECT_TRUE(HiddenHolders(gpu).empty());
}

}  // namespace
}  // namespace partita::model
