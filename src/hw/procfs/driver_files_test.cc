#include "hw/procfs/driver_files.h"

#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

#include "hw/testing/tree.h"

namespace partita::hw::procfs {
namespace {

using model::CapabilityMinor;
using model::ComputeInstanceId;
using model::DeviceMinor;
using model::GpuInstanceId;

// Captured on a virtual machine with one H200 and driver 580.159.04.
const char kH200[] = "tests/data/root/h200-vm";
const std::array kFirst = {DeviceMinor(0)};

TEST(DriverFiles, ReadsACapturedMachine) {
  const base::Result<KernelModule> module = ReadKernelModule(kH200);
  ASSERT_TRUE(module.ok()) << module.error().ToString();
  EXPECT_EQ(*module, (KernelModule{.version = "580.159.04", .open = true}));

  const base::Result<std::vector<GpuInformation>> gpus = ReadGpus(kH200);
  ASSERT_TRUE(gpus.ok());
  ASSERT_EQ(gpus->size(), 1U);
  EXPECT_EQ(gpus->front(),
            (GpuInformation{.pci = {.domain = 0, .bus = 0, .device = 6, .function = 0},
                            .model = "NVIDIA H200",
                            .uuid = model::GpuUuid("GPU-75dc73da-78d6-3405-d610-419a0819d22a"),
                            .minor = DeviceMinor(0),
                            .irq = 41,
                            .vbios = "96.00.A5.00.1A",
                            .excluded = false}));

  const base::Result<Majors> majors = ReadMajors(kH200);
  ASSERT_TRUE(majors.ok());
  EXPECT_EQ(majors->find("nvidia")->second, 195U);
  EXPECT_EQ(majors->find("nvidia-caps")->second, 241U);
  EXPECT_EQ(majors->count("infiniband_mad"), 2U);
  EXPECT_FALSE(majors->contains("virtblk")) << "that is a block device";

  const base::Result<CapabilityMinors> minors = ReadMigMinors(kH200, kFirst);
  ASSERT_TRUE(minors.ok());
  const InstancePath gpu_instance{DeviceMinor(0), GpuInstanceId(3), std::nullopt};
  const InstancePath compute_instance{DeviceMinor(0), GpuInstanceId(3), ComputeInstanceId(7)};
  EXPECT_EQ(minors->at(gpu_instance), CapabilityMinor(30));
  EXPECT_EQ(minors->at(compute_instance), CapabilityMinor(38));
  EXPECT_EQ(minors->size(), 38U) << "all lines but config and monitor";
}

TEST(DriverFiles, SayThatThereIsNoDriver) {
  const testing::Tree tree;
  EXPECT_EQ(ReadKernelModule(tree.root()).error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(ReadGpus(tree.root()).error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(ReadMigMinors(tree.root(), kFirst).error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(ReadMajors(tree.root()).error().code(), base::ErrorCode::kNotFound);
}

TEST(ParseVersion, KnowsTheClosedModule) {
  EXPECT_EQ(ParseVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8\n"
                         "GCC version:  gcc version 12.2.0\n"),
            (KernelModule{.version = "550.163.01", .open = false}));
}

TEST(ParseVersion, RefusesOtherText) {
  EXPECT_EQ(ParseVersion(""), std::nullopt);
  EXPECT_EQ(ParseVersion("nothing to see"), std::nullopt);
  EXPECT_EQ(ParseVersion("\nNVRM version: 550.163.01"), std::nullopt);
}

TEST(ReadKernelModule, QuotesWhatItCannotRead) {
  const testing::Tree tree;
  tree.File("proc/driver/nvidia/version", "gibberish\n");
  const base::Result<KernelModule> module = ReadKernelModule(tree.root());
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().message(), tree.root() + "/proc/driver/nvidia/version: no driver " +
                                          R"(version in "gibberish\n")");
}

TEST(ParseInformation, LeavesOutWhatTheDriverDoesNotKnow) {
  const GpuInformation gpu = ParseInformation(
      "Model: \t\t Unknown\nIRQ:   \t\t 0\n"
      "GPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?\n"
      "Video BIOS: \t \?\?.\?\?.\?\?.\?\?.\?\?\nDevice Minor: \t 7\nGPU Excluded:\t Yes\nno "
      "colon\n");
  EXPECT_EQ(gpu.uuid, std::nullopt);
  EXPECT_EQ(gpu.vbios, std::nullopt);
  EXPECT_EQ(gpu.irq, std::nullopt);
  EXPECT_EQ(gpu.minor, DeviceMinor(7));
  EXPECT_TRUE(gpu.excluded);
}

TEST(ParseMigMinors, SkipsLinesThatItDoesNotKnow) {
  const CapabilityMinors minors = ParseMigMinors(
      "config 1\nmonitor 2\ngpu1/gi2/access 156\ngpu1/gi2/ci0/access 157\ngpu1/gi2/cx0/access 1\n"
      "gpu1/gi2/ci0/other 1\ngpux/gi2/access 1\ngpu1/gi2/access\ngpu1/gi3/access many\n\n"
      "gpu1/gi4 1\ngpu1 1\ngpu1/gi4/ci0/access/more 1\ngpu2/gi0/access 9",
      std::array{DeviceMinor(0), DeviceMinor(1)});
  EXPECT_EQ(minors,
            (CapabilityMinors{
                {{DeviceMinor(1), GpuInstanceId(2), std::nullopt}, CapabilityMinor(156)},
                {{DeviceMinor(1), GpuInstanceId(2), ComputeInstanceId(0)}, CapabilityMinor(157)},
            }));
}

TEST(ReadProcessName, PrefersTheProgramsPath) {
  const testing::Tree tree;
  tree.Link("proc/42/exe", "/usr/bin/python3.11");
  tree.File("proc/42/comm", "python3\n");
  tree.File("proc/43/comm", "hidden\n");
  EXPECT_EQ(ReadProcessName(tree.root(), model::Pid(42)), "/usr/bin/python3.11");
  EXPECT_EQ(ReadProcessName(tree.root(), model::Pid(43)), "hidden");
  EXPECT_EQ(ReadProcessName(tree.root(), model::Pid(44)), "");
  EXPECT_EQ(ReadProcessName(tree.root(), model::Pid(0)), "");
  EXPECT_NE(ReadProcessName("/", model::Pid(getpid())), "");
}

}  // namespace
}  // namespace partita::hw::procfs
