#include <cstring>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/test_node.h"

namespace partita::sim::nvml {
namespace {

TEST(CommonAncestor, ExistsForEveryPairOfGpusAndIsTheSameBothWays) {
  for (const char* profile : {"dgx-a100-40", "hgx-h200", "mixed"}) {
    TestNode node(profile);
    const uint32_t gpus = node.machine().gpu_count;
    for (uint32_t i = 0; i < gpus; ++i) {
      for (uint32_t j = 0; j < gpus; ++j) {
        nvmlGpuTopologyLevel_t there{}, back{};
        const nvmlReturn_t code =
            nvmlDeviceGetTopologyCommonAncestor(node.gpu(i), node.gpu(j), &there);
        EXPECT_EQ(code, i == j ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS) << profile;
        if (i == j) continue;
        ASSERT_EQ(nvmlDeviceGetTopologyCommonAncestor(node.gpu(j), node.gpu(i), &back),
                  NVML_SUCCESS);
        EXPECT_EQ(there, back) << profile << " " << i << " " << j;
      }
    }
  }
}

TEST(NearestGpus, AreThoseAtExactlyThatLevel) {
  TestNode node("dgx-a100-40");
  unsigned int all = 0;
  std::set<nvmlDevice_t> found;
  for (const unsigned int level : {0U, 10U, 20U, 30U, 40U, 50U}) {
    unsigned int count = 0;
    ASSERT_EQ(nvmlDeviceGetTopologyNearestGpus(node.gpu(), level, &count, nullptr), NVML_SUCCESS);
    nvmlDevice_t devices[kMaxGpus];
    unsigned int again = 0;  // the capacity is not looked at
    ASSERT_EQ(nvmlDeviceGetTopologyNearestGpus(node.gpu(), level, &again, devices), NVML_SUCCESS);
    EXPECT_EQ(again, count);
    found.insert(devices, devices + count);
    all += count;
  }
  EXPECT_EQ(all, 7);
  EXPECT_EQ(found.size(), 7);
  EXPECT_FALSE(found.contains(node.gpu()));
}

TEST(NvLink, LeadsToTheSwitchesOfADgx) {
  TestNode node("dgx-a100-40");
  for (unsigned int link = 0; link < 12; ++link) {
    nvmlEnableState_t active{};
    EXPECT_EQ(nvmlDeviceGetNvLinkState(node.gpu(), link, &active), NVML_SUCCESS);
    EXPECT_EQ(active, NVML_FEATURE_ENABLED);
    nvmlIntNvLinkDeviceType_t type{};
    EXPECT_EQ(nvmlDeviceGetNvLinkRemoteDeviceType(node.gpu(), link, &type), NVML_SUCCESS);
    EXPECT_EQ(type, NVML_NVLINK_DEVICE_TYPE_SWITCH);
    nvmlPciInfo_t pci{};
    EXPECT_EQ(nvmlDeviceGetNvLinkRemotePciInfo_v2(node.gpu(), link, &pci), NVML_SUCCESS);
    for (unsigned int i = 0; i < 8; ++i) {
      nvmlPciInfo_t gpu{};
      ASSERT_EQ(nvmlDeviceGetPciInfo_v3(node.gpu(i), &gpu), NVML_SUCCESS);
      EXPECT_STRNE(pci.busId, gpu.busId) << "a switch is no GPU";
    }
  }
  nvmlEnableState_t active{};
  nvmlPciInfo_t pci{};
  unsigned int result = 0;
  EXPECT_EQ(nvmlDeviceGetNvLinkState(node.gpu(), 12, &active), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetNvLinkState(node.gpu(), 35, &active), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetNvLinkRemotePciInfo_v2(node.gpu(), 12, &pci), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetNvLinkCapability(node.gpu(), 0, 0, &result), NVML_SUCCESS);
  EXPECT_EQ(result, 1);
  EXPECT_EQ(nvmlDeviceGetNvLinkCapability(node.gpu(), 18, 0, &result), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetNvLinkCapability(node.gpu(), 0, 6, &result), NVML_ERROR_INVALID_ARGUMENT);
}

TEST(NvLink, GoesDownWithMig) {
  TestNode node("dgx-a100-40");
  node.Change([](Slot& slot) { slot.gpus[0].mig_current = 1; });
  nvmlEnableState_t active = NVML_FEATURE_ENABLED;
  EXPECT_EQ(nvmlDeviceGetNvLinkState(node.gpu(), 0, &active), NVML_SUCCESS);
  EXPECT_EQ(active, NVML_FEATURE_DISABLED);
  nvmlPciInfo_t pci{};
  EXPECT_EQ(nvmlDeviceGetNvLinkRemotePciInfo_v2(node.gpu(), 0, &pci), NVML_ERROR_NOT_SUPPORTED);
}

TEST(PeerAccess, FollowsTheLinksAndEndsWithMig) {
  TestNode node("dgx-a100-40");
  const auto status = [&](unsigned int a, unsigned int b, unsigned int index) {
    nvmlGpuP2PStatus_t value = NVML_P2P_STATUS_UNKNOWN;
    EXPECT_EQ(nvmlDeviceGetP2PStatus(node.gpu(a), node.gpu(b), index, &value), NVML_SUCCESS);
    return value;
  };
  EXPECT_EQ(status(0, 7, NVML_P2P_CAPS_INDEX_READ), NVML_P2P_STATUS_OK);
  EXPECT_EQ(status(0, 7, NVML_P2P_CAPS_INDEX_NVLINK), NVML_P2P_STATUS_OK);
  EXPECT_EQ(status(0, 0, NVML_P2P_CAPS_INDEX_READ), NVML_P2P_STATUS_NOT_SUPPORTED);
  node.Change([](Slot& slot) { slot.gpus[7].mig_current = 1; });
  EXPECT_EQ(status(0, 7, NVML_P2P_CAPS_INDEX_NVLINK), NVML_P2P_STATUS_NOT_SUPPORTED);
  nvmlGpuP2PStatus_t value{};
  EXPECT_EQ(nvmlDeviceGetP2PStatus(node.gpu(0), node.gpu(1), 6, &value),
            NVML_ERROR_INVALID_ARGUMENT);
}

TEST(Fabric, IsCompletedOnAnHgxAndUnknownToOlderBoards) {
  nvmlGpuFabricInfo_t fabric{};
  {
    TestNode node("hgx-h200");
    ASSERT_EQ(nvmlDeviceGetGpuFabricInfo(node.gpu(), &fabric), NVML_SUCCESS);
    EXPECT_EQ(fabric.state, NVML_GPU_FABRIC_STATE_COMPLETED);
    EXPECT_EQ(fabric.status, NVML_SUCCESS);
    const unsigned char zero[NVML_GPU_FABRIC_UUID_LEN] = {};
    EXPECT_EQ(std::memcmp(fabric.clusterUuid, zero, sizeof zero), 0);
  }
  TestNode node("dgx-a100-40");
  EXPECT_EQ(nvmlDeviceGetGpuFabricInfo(node.gpu(), &fabric), NVML_ERROR_NOT_SUPPORTED);
}

TEST(Affinity, FillsWhateverRoomTheCallerHas) {
  TestNode node("h200-vm");
  unsigned long set[3] = {1, 2, 3};
  EXPECT_EQ(nvmlDeviceGetCpuAffinity(node.gpu(), 0, set), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetCpuAffinity(node.gpu(), 2, set), NVML_SUCCESS);
  EXPECT_EQ(set[0], 0xFFFF);
  EXPECT_EQ(set[1], 0);
  EXPECT_EQ(set[2], 3);
  EXPECT_EQ(nvmlDeviceGetMemoryAffinity(node.gpu(), 1, set, 2), NVML_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace partita::sim::nvml
