#include "sim/cuda/devices.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "sim/state/mig.h"
#include "sim/state/test_node.h"

namespace partita::sim::cuda {
namespace {

class Devices : public testing::Test {
 protected:
  explicit Devices(const char* profile = "dgx-a100-40") : loaded_(LoadProfile(profile)) {
    setenv("PARTITA_SIM_VISIBILITY", "off", 1);
  }
  void TearDown() override { unsetenv("PARTITA_SIM_VISIBILITY"); }

  const Machine& machine() const { return *loaded_.machine; }
  Slot& slot() { return *loaded_.slot; }

  // Ordinals as "3", MIG devices as "3:1:0"; a code other than 0 as "code 101".
  std::string Chosen(const char* visible, bool by_bus = true) {
    DeviceList list{};
    const CUresult code =
        ChooseDevices(machine(), slot(), FindCandidates(machine(), slot(), by_bus), visible, &list);
    if (code != CUDA_SUCCESS) return "code " + std::to_string(code);
    return Text(list);
  }
  static std::string Text(const DeviceList& list) {
    std::string text;
    for (uint32_t i = 0; i < list.count; ++i) {
      const DeviceRef& device = list.devices[i];
      text += (i == 0 ? "" : " ") + std::to_string(device.gpu);
      if (device.gpu_instance == kNone) continue;
      text +=
          ":" + std::to_string(device.gpu_instance) + ":" + std::to_string(device.compute_instance);
    }
    return text;
  }
  std::string Uuid(uint32_t gpu) const { return machine().boards[gpu].uuid; }

  // Two 1g instances with a compute instance each.
  void Split(uint32_t gpu) {
    const Board& board = machine().boards[gpu];
    const GiProfile* profile = FindGiProfile(board, 0);
    slot().gpus[gpu].mig_current = slot().gpus[gpu].mig_pending = 1;
    for (uint32_t start = 0; start < 2; ++start) {
      uint32_t gi = 0, ci = 0;
      ASSERT_EQ(CreateGpuInstance(board, slot().gpus[gpu], *profile, start, start + 1, &gi),
                MigStatus::kDone);
      ASSERT_EQ(CreateComputeInstance(board, slot().gpus[gpu].instances[gi],
                                      *FindCiProfile(board, 0, 0), kNone, &ci),
                MigStatus::kDone);
      instances_.push_back(gi);
    }
  }

  Loaded loaded_;
  std::vector<uint32_t> instances_;
};

TEST_F(Devices, AreAllWithoutTheVariable) { EXPECT_EQ(Chosen(nullptr), "0 1 2 3 4 5 6 7"); }

TEST_F(Devices, AreChosenByOrdinalAndByUuid) {
  EXPECT_EQ(Chosen("3"), "3");
  EXPECT_EQ(Chosen("3, 1"), "3 1");
  EXPECT_EQ(Chosen(Uuid(5).c_str()), "5");
  EXPECT_EQ(Chosen((Uuid(5) + ",0").c_str()), "5 0");
  EXPECT_EQ(Chosen(Uuid(5).substr(0, 20).c_str()), "5");
}

// Answers of driver 580 on one H200.
TEST_F(Devices, EndAtTheFirstWordThatNamesNothing) {
  EXPECT_EQ(Chosen("0,9"), "0");
  EXPECT_EQ(Chosen("9,0"), "code 100");
  EXPECT_EQ(Chosen("0,-1,2"), "0");
  EXPECT_EQ(Chosen(""), "code 100");
  EXPECT_EQ(Chosen("GPU-"), "code 100");  // eight of them
  EXPECT_EQ(Chosen("none"), "code 100");
  EXPECT_EQ(Chosen("0,0"), "code 101");
  EXPECT_EQ(Chosen((Uuid(1) + "," + Uuid(1)).c_str()), "code 101");
}

TEST_F(Devices, LeaveOutWhatIsLostOrOfAnotherDriver) {
  slot().gpus[0].lost = 1;
  slot().gpus[2].pci_driver = PciDriver::kVfio;
  EXPECT_EQ(Chosen(nullptr), "1 3 4 5 6 7");
  EXPECT_EQ(Chosen("0"), "1");
}

TEST_F(Devices, AreOneMigDeviceWhereAnyIs) {
  Split(1);
  const std::string first = "1:" + std::to_string(instances_[0]) + ":0";
  const std::string second = "1:" + std::to_string(instances_[1]) + ":0";
  const std::string lower = instances_[0] < instances_[1] ? first : second;
  EXPECT_EQ(Chosen(nullptr), lower);
  EXPECT_EQ(Chosen("0,2"), "0 2");
  EXPECT_EQ(Chosen("1"), lower);
  char uuid[kUuidSize];
  NameMigDevice(machine().boards[1], instances_[1], 0, uuid);
  EXPECT_EQ(Chosen(uuid), second);
  EXPECT_EQ(Chosen((std::string("0,") + uuid).c_str()), second);
  const std::string older = "MIG-" + Uuid(1) + "/" + std::to_string(instances_[0]) + "/0";
  EXPECT_EQ(Chosen(older.c_str()), first);
  EXPECT_EQ(Chosen("MIG-00000000-0000-0000-0000-000000000000"), "code 100");
}

TEST_F(Devices, OfMigWithoutInstancesAreNone) {
  slot().gpus[0].mig_current = 1;
  EXPECT_EQ(Chosen("0"), "code 100");
  EXPECT_EQ(Chosen(nullptr), "1 2 3 4 5 6 7");
}

TEST_F(Devices, OfAMigDeviceHaveItsSizeAndName) {
  Split(0);
  const DeviceRef device{0, instances_[0], 0};
  char name[128];
  NameDevice(machine(), slot(), device, name);
  EXPECT_STREQ(name, "NVIDIA A100-SXM4-40GB MIG 1g.5gb");
  EXPECT_EQ(Multiprocessors(machine(), slot(), device), 14U);
  EXPECT_EQ(Multiprocessors(machine(), slot(), {1, kNone, kNone}), 108U);
}

TEST_F(Devices, OfAServerAreCountedAsItListsThem) {
  const DeviceList offered{2, {{5, kNone, kNone}, {2, kNone, kNone}}};
  DeviceList list{};
  ASSERT_EQ(ChooseOffered(machine(), offered, nullptr, &list), CUDA_SUCCESS);
  EXPECT_EQ(Text(list), "5 2");
  ASSERT_EQ(ChooseOffered(machine(), offered, "1", &list), CUDA_SUCCESS);
  EXPECT_EQ(Text(list), "2");
  ASSERT_EQ(ChooseOffered(machine(), offered, Uuid(5).c_str(), &list), CUDA_SUCCESS);
  EXPECT_EQ(Text(list), "5");
  EXPECT_EQ(ChooseOffered(machine(), offered, "2", &list), CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(ChooseOffered(machine(), offered, Uuid(0).c_str(), &list), CUDA_ERROR_NO_DEVICE);
}

class MixedDevices : public Devices {
 protected:
  MixedDevices() : Devices("mixed") {}
};

TEST_F(MixedDevices, ComeFastestFirstUnlessByBus) {
  std::string by_bus, by_speed;
  by_bus = Chosen(nullptr, true);
  by_speed = Chosen(nullptr, false);
  EXPECT_NE(by_bus, by_speed) << "the profile has a faster GPU behind a slower one";
  DeviceList list{};
  ASSERT_EQ(ChooseDevices(machine(), slot(), FindCandidates(machine(), slot(), false), "0", &list),
            CUDA_SUCCESS);
  EXPECT_GE(machine().boards[list.devices[0].gpu].cores.value, 6000U);
}

}  // namespace
}  // namespace partita::sim::cuda
