#include <gtest/gtest.h>

#include <vector>

#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/test_node.h"
#include "sim/state/life.h"
#include "sim/state/test_node.h"

namespace partita::sim::nvml {
namespace {

constexpr unsigned long long kBoth =
    nvmlSystemEventTypeGpuDriverUnbind | nvmlSystemEventTypeGpuDriverBind;

class SystemEvents : public testing::Test {
 protected:
  SystemEvents() : node_("dgx-a100-40"), set_(Create()) {}

  static nvmlSystemEventSet_t Create() {
    nvmlSystemEventSetCreateRequest_v1_t request = {nvmlSystemEventSetCreateRequest_v1, nullptr};
    EXPECT_EQ(nvmlSystemEventSetCreate(&request), NVML_SUCCESS);
    return request.set;
  }
  nvmlReturn_t Register(unsigned long long types = kBoth) {
    nvmlSystemRegisterEventRequest_v1_t request = {nvmlSystemRegisterEventRequest_v1, types, set_};
    return nvmlSystemRegisterEvents(&request);
  }
  nvmlReturn_t Free() {
    nvmlSystemEventSetFreeRequest_v1_t request = {nvmlSystemEventSetFreeRequest_v1, set_};
    return nvmlSystemEventSetFree(&request);
  }
  nvmlReturn_t Wait(unsigned int room = 4, unsigned int ms = 1) {
    heard_.assign(room, {});
    nvmlSystemEventSetWaitRequest_v1_t request = {
        nvmlSystemEventSetWaitRequest_v1, ms, set_, heard_.data(), room, 99};
    const nvmlReturn_t code = nvmlSystemEventSetWait(&request);
    heard_.resize(request.numEvent <= room ? request.numEvent : 0);
    return code;
  }
  void Drive(uint32_t gpu, PciDriver driver) {
    node_.Change([&](Slot& slot) {
      const PciDriver before = slot.gpus[gpu].pci_driver;
      slot.gpus[gpu].pci_driver = driver;
      TellOfDriver(slot, gpu, before);
    });
  }
  [[nodiscard]] unsigned int IdOf(uint32_t gpu) const {
    const PciFunction& pci = node_.machine().boards[gpu].pci;
    return pci.domain << 16 | pci.bus << 8 | pci.device;
  }

  TestNode node_;
  nvmlSystemEventSet_t set_;
  std::vector<nvmlSystemEventData_v1_t> heard_;
};

TEST_F(SystemEvents, TellWhichGpuTheDriverLostAndGot) {
  Drive(1, PciDriver::kUnbound);  // before the registration: not ours
  ASSERT_EQ(Register(), NVML_SUCCESS);
  EXPECT_EQ(Wait(), NVML_ERROR_TIMEOUT);
  EXPECT_TRUE(heard_.empty());
  Drive(4, PciDriver::kVfio);
  Drive(4, PciDriver::kUnbound);  // from one stranger to another
  Drive(1, PciDriver::kNvidia);
  ASSERT_EQ(Wait(), NVML_SUCCESS);
  ASSERT_EQ(heard_.size(), 2U);
  EXPECT_EQ(heard_[0].eventType, nvmlSystemEventTypeGpuDriverUnbind);
  EXPECT_EQ(heard_[0].gpuId, IdOf(4));
  EXPECT_EQ(heard_[1].eventType, nvmlSystemEventTypeGpuDriverBind);
  EXPECT_EQ(heard_[1].gpuId, IdOf(1));
  EXPECT_EQ(Wait(), NVML_ERROR_TIMEOUT);
}

TEST_F(SystemEvents, ThatDoNotFitComeWithTheNextWait) {
  ASSERT_EQ(Register(), NVML_SUCCESS);
  for (const uint32_t gpu : {5U, 6U, 7U}) Drive(gpu, PciDriver::kVfio);
  ASSERT_EQ(Wait(2), NVML_SUCCESS);
  EXPECT_EQ(heard_.size(), 2U);
  ASSERT_EQ(Wait(2), NVML_SUCCESS);
  ASSERT_EQ(heard_.size(), 1U);
  EXPECT_EQ(heard_[0].gpuId, IdOf(7));
}

TEST_F(SystemEvents, OnlyOfTheTypesAskedForAndNoneOfDevices) {
  nvmlEventSet_t devices = nullptr;
  ASSERT_EQ(nvmlEventSetCreate(&devices), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceRegisterEvents(node_.gpu(4), 0xB, devices), NVML_SUCCESS);
  ASSERT_EQ(Register(nvmlSystemEventTypeGpuDriverBind), NVML_SUCCESS);
  Drive(4, PciDriver::kVfio);
  EXPECT_EQ(Wait(), NVML_ERROR_TIMEOUT);
  node_.Change([](Slot& slot) { AddXid(slot, 4, 79); });
  EXPECT_EQ(Wait(), NVML_ERROR_TIMEOUT);
  nvmlEventData_t event{};
  ASSERT_EQ(nvmlEventSetWait_v2(devices, &event, 0), NVML_SUCCESS);
  EXPECT_EQ(event.eventData, 79U);
  EXPECT_EQ(nvmlEventSetWait_v2(devices, &event, 0), NVML_ERROR_TIMEOUT);
}

TEST_F(SystemEvents, AreSuccessAndNoneForWhoDoesNotWait) {
  ASSERT_EQ(Register(), NVML_SUCCESS);
  EXPECT_EQ(Wait(4, 0), NVML_SUCCESS);
  EXPECT_TRUE(heard_.empty());
  Drive(4, PciDriver::kVfio);
  EXPECT_EQ(Wait(4, 0), NVML_SUCCESS);
  EXPECT_EQ(heard_.size(), 1U);
}

TEST_F(SystemEvents, AreForOneSetOfASession) {
  ASSERT_EQ(Register(), NVML_SUCCESS);
  EXPECT_EQ(Register(), NVML_SUCCESS);
  ASSERT_EQ(Free(), NVML_SUCCESS);
  set_ = Create();
  EXPECT_EQ(Register(), NVML_ERROR_UNKNOWN);
  ASSERT_EQ(nvmlShutdown(), NVML_SUCCESS);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  EXPECT_EQ(Free(), NVML_ERROR_INVALID_ARGUMENT);
  set_ = Create();
  EXPECT_EQ(Register(), NVML_SUCCESS);
}

TEST_F(SystemEvents, RefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(Register(4), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Wait(), NVML_ERROR_TIMEOUT);
  EXPECT_EQ(Wait(0), NVML_ERROR_INVALID_ARGUMENT);
  nvmlSystemEventSetCreateRequest_v1_t request = {0x02000010, nullptr};
  EXPECT_EQ(nvmlSystemEventSetCreate(&request), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  nvmlEventSet_t devices = nullptr;
  ASSERT_EQ(nvmlEventSetCreate(&devices), NVML_SUCCESS);
  set_ = reinterpret_cast<nvmlSystemEventSet_t>(devices);
  EXPECT_EQ(Register(), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(Wait(), NVML_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace partita::sim::nvml
