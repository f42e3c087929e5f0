#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "sim/nvml/api.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/test_node.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"

namespace partita::sim::nvml {
namespace {

constexpr unsigned int k1g = 19, k1gMe = 20, k1gDouble = 15, k2g = 14, k3g = 9, k7g = 0;

class Mig : public testing::Test {
 protected:
  explicit Mig(const char* profile = "h200-vm") : node_(profile), gpu_(node_.gpu()) {}

  void Enable() {
    node_.Change([](Slot& slot) { slot.gpus[0].mig_current = slot.gpus[0].mig_pending = 1; });
  }
  nvmlGpuInstance_t Create(unsigned int id) {
    nvmlGpuInstance_t instance = nullptr;
    EXPECT_EQ(nvmlDeviceCreateGpuInstance(gpu_, id, &instance), NVML_SUCCESS);
    return instance;
  }
  nvmlComputeInstance_t CreateCompute(nvmlGpuInstance_t instance, unsigned int id) {
    nvmlComputeInstance_t compute = nullptr;
    EXPECT_EQ(nvmlGpuInstanceCreateComputeInstance(instance, id, &compute), NVML_SUCCESS);
    return compute;
  }
  // This process holds GPU 0, or an instance of it, until the descriptor is closed.
  int Hold(uint32_t gi, uint32_t ci) {
    Holder holder{};
    holder.gpu_instance = gi;
    holder.compute_instance = ci;
    int fd = -1;
    EXPECT_EQ(HoldAsSelf(node_.store(), node_.holders_path().c_str(), holder, &fd), 0);
    return fd;
  }
  void EndHold() {
    node_.Change([&](Slot& slot) { EndHolder(node_.machine(), slot, 0); });
  }

  TestNode node_;
  nvmlDevice_t gpu_;
};

class AmpereMig : public Mig {
 protected:
  AmpereMig() : Mig("dgx-a100-40") {}
};

TEST_F(Mig, HopperChangesModeAtOnce) {
  nvmlReturn_t activation = NVML_ERROR_UNKNOWN;
  unsigned int current = 9, pending = 9;
  ASSERT_EQ(nvmlDeviceSetMigMode(gpu_, 1, &activation), NVML_SUCCESS);
  EXPECT_EQ(activation, NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceGetMigMode(gpu_, &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 1U);
  EXPECT_EQ(pending, 1U);
  EXPECT_EQ(nvmlDeviceSetMigMode(gpu_, 2, &activation), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceSetMigMode(gpu_, 1, nullptr), NVML_ERROR_INVALID_ARGUMENT);
  Create(k1g);
  EXPECT_EQ(nvmlDeviceSetMigMode(gpu_, 0, &activation), NVML_ERROR_IN_USE);
}

TEST_F(Mig, AHolderKeepsAModeChangePending) {
  Hold(kNone, kNone);
  nvmlReturn_t activation = NVML_SUCCESS;
  unsigned int current = 9, pending = 9;
  ASSERT_EQ(nvmlDeviceSetMigMode(gpu_, 1, &activation), NVML_SUCCESS);
  EXPECT_EQ(activation, NVML_ERROR_IN_USE);
  ASSERT_EQ(nvmlDeviceGetMigMode(gpu_, &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 0U);
  EXPECT_EQ(pending, 1U);
  EndHold();
  ASSERT_EQ(nvmlDeviceSetMigMode(gpu_, 1, &activation), NVML_SUCCESS);
  EXPECT_EQ(activation, NVML_SUCCESS);
}

TEST_F(AmpereMig, ModeWaitsForAReset) {
  nvmlReturn_t activation = NVML_SUCCESS;
  unsigned int current = 9, pending = 9;
  if (node_.machine().idle_mode_change != 0)
    GTEST_FAIL() << "this profile is to be one with services";
  ASSERT_EQ(nvmlDeviceSetMigMode(gpu_, 1, &activation), NVML_SUCCESS);
  EXPECT_EQ(activation, NVML_ERROR_RESET_REQUIRED);
  ASSERT_EQ(nvmlDeviceGetMigMode(gpu_, &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 0U);
  EXPECT_EQ(pending, 1U);
  node_.Change([&](Slot& slot) { ResetGpu(node_.machine(), slot, 0); });
  ASSERT_EQ(nvmlDeviceGetMigMode(gpu_, &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 1U);
}

TEST_F(Mig, OffMeansNothingCanBeMade) {
  nvmlGpuInstance_t instance = nullptr;
  unsigned int count = 9;
  nvmlGpuInstance_t room[8];
  nvmlDevice_t mig = nullptr;
  EXPECT_EQ(nvmlDeviceCreateGpuInstance(gpu_, k1g, &instance), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetGpuInstances(gpu_, k1g, room, &count), NVML_SUCCESS);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(nvmlDeviceGetGpuInstances(gpu_, k1g, nullptr, &count), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceById(gpu_, 0, &instance), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(gpu_, 0, &mig), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetMaxMigDeviceCount(gpu_, &count), NVML_SUCCESS);
  EXPECT_EQ(count, 0U);
  Enable();
  EXPECT_EQ(nvmlDeviceGetMaxMigDeviceCount(gpu_, &count), NVML_SUCCESS);
  EXPECT_EQ(count, 7U);
}

TEST_F(Mig, ProfilesAnswerByConstantAndById) {
  nvmlGpuInstanceProfileInfo_t info{};
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfo(gpu_, 9, &info), NVML_SUCCESS);
  EXPECT_EQ(info.id, k1gDouble);
  EXPECT_EQ(info.multiprocessorCount, 26U);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfo(gpu_, 5, &info), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfo(gpu_, 16, &info), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfo(gpu_, 17, &info), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfo(gpu_, 0, nullptr), NVML_ERROR_INVALID_ARGUMENT);
  unsigned int left = 0;
  EXPECT_EQ(nvmlDeviceGetGpuInstanceRemainingCapacity(gpu_, 21, &left), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceRemainingCapacity(gpu_, 99, &left),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceRemainingCapacity(gpu_, k1g, &left), NVML_SUCCESS);
  EXPECT_EQ(left, 7U);
}

TEST_F(Mig, TaggedProfilesForgetTheirTag) {
  nvmlGpuInstanceProfileInfo_v2_t v2{};
  v2.version = nvmlGpuInstanceProfileInfo_v2;
  ASSERT_EQ(nvmlDeviceGetGpuInstanceProfileInfoV(gpu_, 7, &v2), NVML_SUCCESS);
  EXPECT_STREQ(v2.name, "MIG 1g.18gb+me");
  EXPECT_EQ(v2.version, 0U);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfoV(gpu_, 7, &v2), NVML_ERROR_INVALID_ARGUMENT);
  nvmlGpuInstanceProfileInfo_v3_t v3{};
  v3.version = nvmlGpuInstanceProfileInfo_v3;
  ASSERT_EQ(nvmlDeviceGetGpuInstanceProfileInfoByIdV(
                gpu_, k3g, reinterpret_cast<nvmlGpuInstanceProfileInfo_v2_t*>(&v3)),
            NVML_SUCCESS);
  EXPECT_EQ(v3.id, k3g);
  EXPECT_EQ(v3.memorySizeMB, 71424U);
  EXPECT_STREQ(v3.name, "MIG 3g.71gb");
  v2.version = nvmlGpuInstanceProfileInfo_v2;
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfoByIdV(gpu_, 99, &v2), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Mig, PlacementsAskForTheirSizeWithNull) {
  unsigned int count = 0;
  ASSERT_EQ(nvmlDeviceGetGpuInstancePossiblePlacements_v2(gpu_, k2g, nullptr, &count),
            NVML_SUCCESS);
  EXPECT_EQ(count, 3U);
  nvmlGpuInstancePlacement_t placements[3];
  count = 0;  // ignored
  ASSERT_EQ(nvmlDeviceGetGpuInstancePossiblePlacements_v2(gpu_, k2g, placements, &count),
            NVML_SUCCESS);
  EXPECT_EQ(placements[2].start, 4U);
  EXPECT_EQ(placements[2].size, 2U);
  EXPECT_EQ(nvmlDeviceGetGpuInstancePossiblePlacements(gpu_, k2g, nullptr, &count),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetGpuInstancePossiblePlacements_v2(gpu_, 99, nullptr, &count),
            NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Mig, BadPlacementsAreArgumentsAndTakenOnesAreResources) {
  Enable();
  nvmlGpuInstance_t instance = nullptr;
  nvmlGpuInstancePlacement_t at = {6, 2};
  EXPECT_EQ(nvmlDeviceCreateGpuInstanceWithPlacement(gpu_, k2g, &at, &instance),
            NVML_ERROR_INVALID_ARGUMENT);
  at = {0, 1};
  EXPECT_EQ(nvmlDeviceCreateGpuInstanceWithPlacement(gpu_, k2g, &at, &instance),
            NVML_ERROR_INVALID_ARGUMENT);
  at = {0, 2};
  ASSERT_EQ(nvmlDeviceCreateGpuInstanceWithPlacement(gpu_, k2g, &at, &instance), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceCreateGpuInstanceWithPlacement(gpu_, k2g, &at, &instance),
            NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(nvmlDeviceCreateGpuInstance(gpu_, k7g, &instance), NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(nvmlDeviceCreateGpuInstance(gpu_, 21, &instance), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceCreateGpuInstance(gpu_, 99, &instance), NVML_ERROR_INVALID_ARGUMENT);
  Create(k1gMe);
  EXPECT_EQ(nvmlDeviceCreateGpuInstance(gpu_, k1gMe, &instance), NVML_ERROR_INSUFFICIENT_RESOURCES);
}

TEST_F(Mig, ComputeInstancesAreMigDevices) {
  Enable();
  const nvmlGpuInstance_t gi = Create(k3g);
  nvmlDevice_t mig = nullptr;
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(gpu_, 0, &mig), NVML_ERROR_NOT_FOUND);
  const nvmlComputeInstance_t first = CreateCompute(gi, 1);
  const nvmlComputeInstance_t second = CreateCompute(gi, 0);
  nvmlComputeInstance_t none = nullptr;
  EXPECT_EQ(nvmlGpuInstanceCreateComputeInstance(gi, 0, &none), NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(nvmlGpuInstanceCreateComputeInstance(gi, 4, &none), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlGpuInstanceCreateComputeInstance(gi, 9, &none), NVML_ERROR_INVALID_ARGUMENT);
  nvmlComputeInstanceInfo_t info{};
  ASSERT_EQ(nvmlComputeInstanceGetInfo_v2(second, &info), NVML_SUCCESS);
  EXPECT_EQ(info.id, 1U);
  EXPECT_EQ(info.profileId, 0U);
  EXPECT_EQ(info.placement.start, 2U);
  EXPECT_EQ(info.gpuInstance, gi);
  ASSERT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(gpu_, 1, &mig), NVML_SUCCESS);
  EXPECT_EQ(info.device, mig);
  unsigned int value = 9;
  EXPECT_EQ(nvmlDeviceIsMigDeviceHandle(mig, &value), NVML_SUCCESS);
  EXPECT_EQ(value, 1U);
  EXPECT_EQ(nvmlDeviceGetComputeInstanceId(mig, &value), NVML_SUCCESS);
  EXPECT_EQ(value, 1U);
  nvmlDevice_t parent = nullptr;
  EXPECT_EQ(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig, &parent), NVML_SUCCESS);
  EXPECT_EQ(parent, gpu_);
  EXPECT_EQ(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(gpu_, &parent),
            NVML_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(nvmlComputeInstanceDestroy(second), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceIsMigDeviceHandle(mig, &value), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlComputeInstanceGetInfo_v2(second, &info), NVML_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(nvmlComputeInstanceGetInfo_v2(first, &info), NVML_SUCCESS);
}

TEST_F(Mig, TheOldComputeInstanceInfoEndsBeforeThePlacement) {
  Enable();
  const nvmlComputeInstance_t ci = CreateCompute(Create(k1g), 0);
  nvmlComputeInstanceInfo_t info;
  memset(static_cast<void*>(&info), 0x5A, sizeof info);
  ASSERT_EQ(nvmlComputeInstanceGetInfo(ci, &info), NVML_SUCCESS);
  EXPECT_EQ(info.profileId, 0U);
  EXPECT_EQ(info.placement.start, 0x5A5A5A5AU);
}

TEST_F(Mig, MigDevicesAreOrderedByGpuInstance) {
  Enable();
  for (int i = 0; i < 7; ++i) CreateCompute(Create(k1g), 0);
  unsigned int last = 0;
  for (unsigned int index = 0; index < 7; ++index) {
    nvmlDevice_t mig = nullptr;
    unsigned int gi = 0;
    ASSERT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(gpu_, index, &mig), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetGpuInstanceId(mig, &gi), NVML_SUCCESS);
    EXPECT_GT(gi, last);
    last = gi;
  }
}

TEST_F(Mig, EqualProfilesHaveEqualAttributes) {
  Enable();
  nvmlDeviceAttributes_t attributes[2];
  for (int i = 0; i < 2; ++i) {
    nvmlComputeInstanceInfo_t info{};
    ASSERT_EQ(nvmlComputeInstanceGetInfo_v2(CreateCompute(Create(k2g), 1), &info), NVML_SUCCESS);
    memset(static_cast<void*>(&attributes[i]), i, sizeof attributes[i]);
    ASSERT_EQ(nvmlDeviceGetAttributes_v2(info.device, &attributes[i]), NVML_SUCCESS);
  }
  EXPECT_EQ(memcmp(&attributes[0], &attributes[1], sizeof attributes[0]), 0);
  EXPECT_EQ(attributes[0].memorySizeMB, 33280U);
  EXPECT_EQ(attributes[0].gpuInstanceSliceCount, 2U);
  EXPECT_EQ(attributes[0].computeInstanceSliceCount, 2U);
  EXPECT_EQ(attributes[0].multiprocessorCount, 32U);
  EXPECT_EQ(nvmlDeviceGetAttributes_v2(gpu_, &attributes[0]), NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(Mig, ComputeProfilesOfADoubleMemoryInstance) {
  Enable();
  const nvmlGpuInstance_t gi = Create(k1gDouble);
  nvmlComputeInstanceProfileInfo_t info{};
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, 7, 0, &info), NVML_SUCCESS);
  EXPECT_EQ(info.multiprocessorCount, 26U);
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, 1, 0, &info),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, 9, 0, &info),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, 0, 1, &info),
            NVML_ERROR_INVALID_ARGUMENT);
  nvmlComputeInstanceProfileInfo_v2_t v2{};
  v2.version = nvmlComputeInstanceProfileInfo_v2;
  ASSERT_EQ(nvmlGpuInstanceGetComputeInstanceProfileInfoV(gi, 0, 0, &v2), NVML_SUCCESS);
  EXPECT_STREQ(v2.name, "MIG 1g.35gb");
  unsigned int count = 0;
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstancePossiblePlacements(gi, 0, nullptr, &count),
            NVML_SUCCESS);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceRemainingCapacity(gi, 7, &count), NVML_SUCCESS);
  EXPECT_EQ(count, 1U);
}

TEST_F(Mig, InUseIsRefused) {
  Enable();
  const nvmlGpuInstance_t gi = Create(k1g);
  const nvmlComputeInstance_t ci = CreateCompute(gi, 0);
  EXPECT_EQ(nvmlGpuInstanceDestroy(gi), NVML_ERROR_IN_USE);
  nvmlGpuInstanceInfo_t info{};
  ASSERT_EQ(nvmlGpuInstanceGetInfo(gi, &info), NVML_SUCCESS);
  Hold(info.id, 0);
  EXPECT_EQ(nvmlComputeInstanceDestroy(ci), NVML_ERROR_IN_USE);
  EndHold();
  EXPECT_EQ(nvmlComputeInstanceDestroy(ci), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceDestroy(gi), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceGetInfo(gi, &info), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Mig, TheSameLayoutGetsTheSameUuids) {
  Enable();
  std::string uuids[2];
  for (std::string& uuid : uuids) {
    const nvmlGpuInstance_t gi = Create(k1g);
    const nvmlComputeInstance_t ci = CreateCompute(gi, 0);
    nvmlComputeInstanceInfo_t info{};
    char text[96];
    ASSERT_EQ(nvmlComputeInstanceGetInfo_v2(ci, &info), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetUUID(info.device, text, sizeof text), NVML_SUCCESS);
    uuid = text;
    nvmlDevice_t found = nullptr;
    EXPECT_EQ(nvmlDeviceGetHandleByUUID(text, &found), NVML_SUCCESS);
    EXPECT_EQ(found, info.device);
    ASSERT_EQ(nvmlComputeInstanceDestroy(ci), NVML_SUCCESS);
    ASSERT_EQ(nvmlGpuInstanceDestroy(gi), NVML_SUCCESS);
    EXPECT_EQ(nvmlDeviceGetHandleByUUID(text, &found), NVML_ERROR_NOT_FOUND);
  }
  EXPECT_EQ(uuids[0], uuids[1]);
}

TEST_F(Mig, AResetInvalidatesInstanceHandles) {
  Enable();
  const nvmlGpuInstance_t gi = Create(k1g);
  node_.Change([&](Slot& slot) { ResetGpu(node_.machine(), slot, 0); });
  nvmlGpuInstanceInfo_t info{};
  EXPECT_EQ(nvmlGpuInstanceGetInfo(gi, &info), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Mig, OtherUsersMayLookAndNotTouch) {
  if (geteuid() != 0) GTEST_SKIP() << "run as root to test what other users may not do";
  Enable();
  const nvmlGpuInstance_t gi = Create(k1g);
  ASSERT_EQ(seteuid(65534), 0);
  nvmlReturn_t activation = NVML_SUCCESS;
  nvmlGpuInstance_t instance = nullptr;
  unsigned int left = 0;
  EXPECT_EQ(nvmlDeviceSetMigMode(gpu_, 0, &activation), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(nvmlDeviceCreateGpuInstance(gpu_, k1g, &instance), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(nvmlGpuInstanceDestroy(gi), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceRemainingCapacity(gpu_, k1g, &left), NVML_SUCCESS);
  ASSERT_EQ(seteuid(0), 0);
}

TEST(MigOnBoardsWithout, AnswersNotSupported) {
  TestNode node("mixed");
  for (unsigned int index = 0; index < node.machine().gpu_count; ++index) {
    if (node.machine().boards[index].mig_activation != MigActivation::kNone) continue;
    const nvmlDevice_t gpu = node.gpu(index);
    unsigned int a = 0, b = 0;
    nvmlGpuInstanceProfileInfo_t info{};
    EXPECT_EQ(nvmlDeviceGetMigMode(gpu, &a, &b), NVML_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfo(gpu, 0, &info), NVML_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(nvmlDeviceIsMigDeviceHandle(gpu, &a), NVML_SUCCESS);
    EXPECT_EQ(nvmlDeviceGetMaxMigDeviceCount(gpu, &a), NVML_SUCCESS);
    EXPECT_EQ(a, 0U);
  }
}

}  // namespace
}  // namespace partita::sim::nvml
