#include <cctype>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/test_node.h"
#include "sim/state/mig.h"

namespace partita::sim::nvml {
namespace {

std::string NameOf(nvmlDevice_t device) {
  char text[NVML_DEVICE_NAME_V2_BUFFER_SIZE] = "";
  EXPECT_EQ(nvmlDeviceGetName(device, text, sizeof text), NVML_SUCCESS);
  return text;
}

std::string UuidOf(nvmlDevice_t device) {
  char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = "";
  EXPECT_EQ(nvmlDeviceGetUUID(device, text, sizeof text), NVML_SUCCESS);
  return text;
}

// The device, or nullptr with the code in `code`.
nvmlDevice_t ByUuid(const std::string& uuid, nvmlReturn_t* code = nullptr) {
  nvmlDevice_t device = nullptr;
  const nvmlReturn_t answer = nvmlDeviceGetHandleByUUID(uuid.c_str(), &device);
  if (code != nullptr) *code = answer;
  return device;
}

nvmlDevice_t ByBusId(const std::string& bus_id, nvmlReturn_t* code) {
  nvmlDevice_t device = nullptr;
  *code = nvmlDeviceGetHandleByPciBusId_v2(bus_id.c_str(), &device);
  return device;
}

// Turns MIG on and makes a GPU instance with one compute instance over all of it.
uint32_t AddMigDevice(TestNode& node, uint32_t gpu, uint32_t profile_id, uint32_t ci_profile) {
  uint32_t gi = kNone;
  node.Change([&](Slot& slot) {
    const Board& board = node.machine().boards[gpu];
    Gpu& state = slot.gpus[gpu];
    state.mig_current = state.mig_pending = 1;
    const GiProfile* profile = FindGiProfileById(board, profile_id);
    ASSERT_EQ(CreateGpuInstance(board, state, *profile, kNone, slot.next_incarnation++, &gi),
              MigStatus::kDone);
    uint32_t ci = kNone;
    const CiProfile* compute = FindCiProfile(board, profile->constant, ci_profile);
    ASSERT_EQ(CreateComputeInstance(board, state.instances[gi], *compute, kNone, &ci),
              MigStatus::kDone);
    ASSERT_EQ(ci, 0);
  });
  return gi;
}

std::string MigUuid(TestNode& node, uint32_t gpu, uint32_t gi, uint32_t ci) {
  char text[kUuidSize] = "";
  NameMigDevice(node.machine().boards[gpu], gi, ci, text);
  return text;
}

TEST(Lookup, EveryWayGivesTheSameHandle) {
  TestNode node("dgx-a100-40");
  unsigned int count = 0;
  ASSERT_EQ(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
  ASSERT_EQ(count, 8);
  for (unsigned int i = 0; i < count; ++i) {
    const nvmlDevice_t gpu = node.gpu(i);
    unsigned int index = 99;
    EXPECT_EQ(nvmlDeviceGetIndex(gpu, &index), NVML_SUCCESS);
    EXPECT_EQ(index, i);
    EXPECT_EQ(ByUuid(UuidOf(gpu)), gpu);
    EXPECT_EQ(ByUuid(UuidOf(gpu).substr(4)), gpu) << "without its prefix";
    nvmlPciInfo_t pci{};
    ASSERT_EQ(nvmlDeviceGetPciInfo_v3(gpu, &pci), NVML_SUCCESS);
    nvmlReturn_t code{};
    EXPECT_EQ(ByBusId(pci.busId, &code), gpu);
    EXPECT_EQ(ByBusId(pci.busIdLegacy, &code), gpu);
    nvmlDevice_t old = nullptr;
    EXPECT_EQ(nvmlDeviceGetHandleByIndex(i, &old), NVML_SUCCESS);
    EXPECT_EQ(old, gpu);
    EXPECT_EQ(nvmlDeviceGetHandleByPciBusId(pci.busId, &old), NVML_SUCCESS);
    EXPECT_EQ(old, gpu);
  }
}

TEST(Lookup, HandlesOutliveAShutdown) {
  TestNode node("h200-vm");
  const nvmlDevice_t gpu = node.gpu();
  ASSERT_EQ(nvmlShutdown(), NVML_SUCCESS);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  EXPECT_EQ(NameOf(gpu), "NVIDIA H200");
  EXPECT_EQ(node.gpu(), gpu);
}

TEST(Lookup, UuidsAreTakenAsTheyAreWritten) {
  TestNode node("h200-vm");
  std::string upper = UuidOf(node.gpu());
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  nvmlReturn_t code{};
  for (const std::string& uuid : {upper, std::string(""), std::string("GPU-"), std::string("MIG-"),
                                  UuidOf(node.gpu()) + " ", "MIG-" + UuidOf(node.gpu()) + "/0/0"}) {
    EXPECT_EQ(ByUuid(uuid, &code), nullptr) << uuid;
    EXPECT_EQ(code, NVML_ERROR_NOT_FOUND) << uuid;
  }
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByUUID(nullptr, &device), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetHandleByUUID("GPU-", nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST(Lookup, BusIdsAreTakenInEverySpelling) {
  TestNode node("h200-vm");  // at 0000:00:06.0
  nvmlReturn_t code{};
  for (const char* spelling :
       {"00000000:00:06.0", "0000:00:06.0", "0:0:6.0", "00:06.0", "0:6", "0000:00:06", "00:06"}) {
    EXPECT_EQ(ByBusId(spelling, &code), node.gpu()) << spelling;
    EXPECT_EQ(code, NVML_SUCCESS) << spelling;
  }
  for (const char* absent : {"00:07.0", "0001:00:06.0", "0000:FF:1F.0", "0000:ff:1f.0", "6:0"}) {
    EXPECT_EQ(ByBusId(absent, &code), nullptr) << absent;
    EXPECT_EQ(code, NVML_ERROR_NOT_FOUND) << absent;
  }
  for (const char* wrong : {"", "zz", "06", ":", "0000:00:06.1", "0000:00:06.00", "0000:00:06.0 ",
                            "0000:00:06.", "0:0:0:6", "000000000:00:06.0", "0000:100:06.0",
                            "0000:00:20.0", "0000:00:006.0", " 0000:00:06.0", "0000:00:g6.0"}) {
    EXPECT_EQ(ByBusId(wrong, &code), nullptr) << wrong;
    EXPECT_EQ(code, NVML_ERROR_INVALID_ARGUMENT) << wrong;
  }
}

TEST(Lookup, ASerialFindsItsBoard) {
  TestNode node("h200-vm");
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleBySerial("1653724050993", &device), NVML_SUCCESS);
  EXPECT_EQ(device, node.gpu());
  EXPECT_EQ(nvmlDeviceGetHandleBySerial("", &device), NVML_ERROR_NOT_FOUND);
}

TEST(Pci, ClassesAndExtendedStructAgree) {
  TestNode node("h200-vm");
  nvmlPciInfoExt_v1_t pci{};
  pci.version = nvmlPciInfoExt_v1;
  ASSERT_EQ(nvmlDeviceGetPciInfoExt(node.gpu(), &pci), NVML_SUCCESS);
  EXPECT_EQ(pci.version, nvmlPciInfoExt_v1);
  EXPECT_EQ(pci.baseClass, 3);
  EXPECT_EQ(pci.subClass, 2);
  EXPECT_EQ(pci.pciDeviceId, 0x233510DE);
  EXPECT_STREQ(pci.busId, "00000000:00:06.0");
}

TEST(BoardId, IsTheAddressWithoutShiftingTheDevice) {
  TestNode node("h200-vm");
  unsigned int id = 0;
  ASSERT_EQ(nvmlDeviceGetBoardId(node.gpu(), &id), NVML_SUCCESS);
  EXPECT_EQ(id, 6);
}

TEST(MigDevice, IsCalledAfterItsParentAndProfile) {
  TestNode node("hgx-h200");
  const uint32_t whole = AddMigDevice(node, 3, 9, NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE);
  const uint32_t part = AddMigDevice(node, 3, 9, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE);
  const nvmlDevice_t a = ByUuid(MigUuid(node, 3, whole, 0));
  const nvmlDevice_t b = ByUuid(MigUuid(node, 3, part, 0));
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(NameOf(a), "NVIDIA H200 MIG 3g.71gb");
  EXPECT_EQ(NameOf(b), "NVIDIA H200 MIG 1c.3g.71gb");
  EXPECT_EQ(UuidOf(a), MigUuid(node, 3, whole, 0));
  EXPECT_EQ(UuidOf(a).size(), 40);
  EXPECT_EQ(NameOf(node.gpu(3)), "NVIDIA H200");
  unsigned int first = 9, second = 9;
  EXPECT_EQ(nvmlDeviceGetIndex(a, &first), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetIndex(b, &second), NVML_SUCCESS);
  EXPECT_EQ(first, whole < part ? 0 : 1);
  EXPECT_EQ(first + second, 1);
}

TEST(MigDevice, IsFoundByTheNameOfOldDriversToo) {
  TestNode node("hgx-h200");
  const uint32_t gi = AddMigDevice(node, 0, 19, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE);
  const std::string old = "MIG-" + UuidOf(node.gpu()) + "/" + std::to_string(gi) + "/0";
  EXPECT_EQ(ByUuid(old), ByUuid(MigUuid(node, 0, gi, 0)));
  EXPECT_NE(ByUuid(old), nullptr);
  nvmlReturn_t code{};
  EXPECT_EQ(ByUuid("MIG-" + UuidOf(node.gpu()) + "/" + std::to_string(gi) + "/1", &code), nullptr);
  EXPECT_EQ(code, NVML_ERROR_NOT_FOUND);
}

TEST(MigDevice, IsInvalidOnceItsInstanceIsGone) {
  TestNode node("hgx-h200");
  const uint32_t gi = AddMigDevice(node, 0, 19, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE);
  const nvmlDevice_t device = ByUuid(MigUuid(node, 0, gi, 0));
  node.Change([](Slot& slot) { DestroyAllInstances(slot.gpus[0]); });
  char text[96];
  EXPECT_EQ(nvmlDeviceGetName(device, text, sizeof text), NVML_ERROR_INVALID_ARGUMENT);
  nvmlReturn_t code{};
  EXPECT_EQ(ByUuid(MigUuid(node, 0, gi, 0), &code), nullptr);
  EXPECT_EQ(code, NVML_ERROR_NOT_FOUND);
}

// Table of what a GPU answers with MIG off, with MIG on, and what a MIG device answers.
TEST(MigDevice, AnswersLikeNeitherItsParentNorAGpuWithoutMig) {
  TestNode node("hgx-h200");
  const uint32_t gi = AddMigDevice(node, 0, 19, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE);
  const nvmlDevice_t off = node.gpu(1), on = node.gpu(0), mig = ByUuid(MigUuid(node, 0, gi, 0));
  unsigned int number = 0;
  nvmlPciInfo_t pci{};
  nvmlUtilization_t rates{};
  nvmlComputeMode_t mode{};
  nvmlEnableState_t current{}, pending{};
  nvmlBAR1Memory_t bar1{};
  const nvmlReturn_t ok = NVML_SUCCESS, no = NVML_ERROR_NOT_SUPPORTED;
  const struct {
    const char* name;
    std::function<nvmlReturn_t(nvmlDevice_t)> call;
    nvmlReturn_t off, on, mig;
  } table[] = {
      {"minor", [&](nvmlDevice_t d) { return nvmlDeviceGetMinorNumber(d, &number); }, ok, ok, no},
      {"pci", [&](nvmlDevice_t d) { return nvmlDeviceGetPciInfo_v3(d, &pci); }, ok, ok, no},
      {"rates", [&](nvmlDevice_t d) { return nvmlDeviceGetUtilizationRates(d, &rates); }, ok, no,
       no},
      {"clock", [&](nvmlDevice_t d) { return nvmlDeviceGetClockInfo(d, 0, &number); }, ok, ok, no},
      {"power", [&](nvmlDevice_t d) { return nvmlDeviceGetPowerUsage(d, &number); }, ok, ok, no},
      {"heat", [&](nvmlDevice_t d) { return nvmlDeviceGetTemperature(d, 0, &number); }, ok, ok, no},
      {"pcie", [&](nvmlDevice_t d) { return nvmlDeviceGetCurrPcieLinkWidth(d, &number); }, ok, ok,
       no},
      {"ecc", [&](nvmlDevice_t d) { return nvmlDeviceGetEccMode(d, &current, &pending); }, ok, ok,
       ok},
      {"bar1", [&](nvmlDevice_t d) { return nvmlDeviceGetBAR1MemoryInfo(d, &bar1); }, ok, ok, ok},
      {"mode", [&](nvmlDevice_t d) { return nvmlDeviceGetComputeMode(d, &mode); }, ok, ok, ok},
  };
  for (const auto& row : table) {
    EXPECT_EQ(row.call(off), row.off) << row.name;
    EXPECT_EQ(row.call(on), row.on) << row.name;
    EXPECT_EQ(row.call(mig), row.mig) << row.name;
  }
}

TEST(MigDevice, HasTheMemoryOfItsProfileAndItsShareOfTheWindow) {
  TestNode node("hgx-h200");
  nvmlMemory_t before{}, parent{}, device{};
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(node.gpu(), &before), NVML_SUCCESS);
  const uint32_t gi = AddMigDevice(node, 0, 14, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE);
  const nvmlDevice_t mig = ByUuid(MigUuid(node, 0, gi, 0));
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(mig, &device), NVML_SUCCESS);
  EXPECT_EQ(device.total, 33280ULL * 1024 * 1024);
  EXPECT_EQ(device.free + device.used, device.total);
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(node.gpu(), &parent), NVML_SUCCESS);
  EXPECT_GT(parent.used, before.used) << "the reservation shows in the parent";
  nvmlBAR1Memory_t bar1{};
  ASSERT_EQ(nvmlDeviceGetBAR1MemoryInfo(mig, &bar1), NVML_SUCCESS);
  EXPECT_EQ(bar1.bar1Total, 274877906944ULL / 8 * 2);
}

TEST(LostGpu, AnswersSoToEveryCallAndLookup) {
  TestNode node("dgx-a100-40");
  const nvmlDevice_t gpu = node.gpu(2), peer = node.gpu(1);
  const std::string uuid = UuidOf(gpu);
  nvmlPciInfo_t pci{};
  ASSERT_EQ(nvmlDeviceGetPciInfo_v3(gpu, &pci), NVML_SUCCESS);
  node.Change([](Slot& slot) { slot.gpus[2].lost = 1; });
  nvmlDevice_t found = nullptr;
  nvmlReturn_t code{};
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(2, &found), NVML_ERROR_GPU_IS_LOST);
  ByUuid(uuid, &code);
  EXPECT_EQ(code, NVML_ERROR_GPU_IS_LOST);
  ByBusId(pci.busId, &code);
  EXPECT_EQ(code, NVML_ERROR_GPU_IS_LOST);
  char text[96];
  EXPECT_EQ(nvmlDeviceGetName(gpu, text, sizeof text), NVML_ERROR_GPU_IS_LOST);
  nvmlGpuTopologyLevel_t level{};
  EXPECT_EQ(nvmlDeviceGetTopologyCommonAncestor(peer, gpu, &level), NVML_ERROR_GPU_IS_LOST);
  unsigned int count = 0;
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 8);
}

}  // namespace
}  // namespace partita::sim::nvml
