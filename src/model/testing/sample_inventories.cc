#include "model/testing/sample_inventories.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/testing/sample_gpus.h"

namespace partita::model::testing {

namespace {

using model::Celsius;
using model::Gpu;
using model::GpuIndex;
using model::Milliwatts;
using model::Percent;

NodeReport Report(std::string host, model::Inventory inventory) {
  NodeReport report;
  report.host = std::move(host);
  report.time = "2026-11-15T01:06:49Z";
  report.gpus_on_node = inventory.gpus.size();
  report.inventory = std::move(inventory);
  return report;
}

model::Driver Driver580() {
  return {.version = "580.159.04",
          .nvml_version = "13.580.159.04",
          .cuda = model::CudaVersion{13, 0},
          .library_path = "/usr/lib64/libnvidia-ml.so.1"};
}

void LinkThroughSwitches(model::Inventory& inventory) {
  for (std::size_t a = 0; a < inventory.gpus.size(); ++a) {
    inventory.switch_links.push_back({inventory.gpus[a].pci, 12});
    for (std::size_t b = a + 1; b < inventory.gpus.size(); ++b) {
      const bool near = kDgxNuma[a] == kDgxNuma[b];
      inventory.links.push_back({inventory.gpus[a].pci, inventory.gpus[b].pci,
                                 near ? model::PathLevel::kSwitches : model::PathLevel::kSystem,
                                 0});
    }
  }
}

}  // namespace

NodeReport H200Idle() {
  model::Inventory inventory;
  inventory.generation = 1;
  inventory.driver = Driver580();
  inventory.gpus = {H200()};
  inventory.nodes = {{"/dev/nvidia-caps/nvidia-cap1", 241, 1, 0400},
                     {"/dev/nvidia-caps/nvidia-cap2", 241, 2, 0444},
                     {"/dev/nvidia-uvm", 238, 0, 0666},
                     {"/dev/nvidia-uvm-tools", 238, 1, 0666},
                     {"/dev/nvidia0", 195, 0, 0666},
                     {"/dev/nvidiactl", 195, 255, 0666}};
  return Report("vm", std::move(inventory));
}

NodeReport DgxA100Mixed() {
  model::Inventory inventory;
  inventory.generation = 7;
  inventory.driver = Driver580();
  for (std::uint32_t i = 0; i < 8; ++i) inventory.gpus.push_back(A100(i));
  std::vector<Gpu>& gpus = inventory.gpus;

  Busy(gpus[0], 38 * kGibi, 97, 389);
  gpus[0].processes = {Holder(48211, "/usr/bin/python3 train.py --config big.yaml", 38 * kGibi)};
  gpus[1].compute_mode = model::ComputeMode::kExclusiveProcess;
  gpus[1].processes = {Holder(1205, "nvidia-cuda-mps-server", 30 * kMebi)};
  gpus[1].processes[0].kind = model::ProcessKind::kMps;
  Fill(gpus[1], 40 * kGibi, 624 * kMebi, 30 * kMebi);

  MigBuilder sevens(A100Profiles(), 2);
  for (std::uint32_t s = 0; s < 7; ++s) sevens.Add(s == 6 ? "1g.5gb+me" : "1g.5gb", s, 7 + s, {1});
  Slice(gpus[2], sevens.Build());
  Hold(gpus[2], {In(Holder(50101, "python3", 3 * kGibi), 7, 0),
                 In(Holder(50102, "python3", 3 * kGibi), 8, 0),
                 In(Holder(50344, "tritonserver", 2 * kGibi + 512 * kMebi), 10, 0)});

  Slice(
      gpus[3],
      MigBuilder(A100Profiles(), 3).Add("4g.20gb", 0, 1, {4}).Add("3g.20gb", 4, 2, {1, 2}).Build());
  Hold(gpus[3], {In(Holder(61007, "jupyter-lab", 700 * kMebi), 2, 1)});
  Slice(gpus[4], MigBuilder(A100Profiles(), 4)
                     .Add("2g.10gb", 0, 3, {2})
                     .Add("1g.10gb", 6, 6, {1})
                     .Remaining("1g.5gb", 4)
                     .Remaining("2g.10gb", 2)
                     .Remaining("1g.5gb+me", 1)
                     .Remaining("1g.10gb", 2)
                     .Build());
  Slice(gpus[5], MigBuilder(A100Profiles(), 5).Add("7g.40gb", 0, 0, {1, 1, 1, 1, 1, 1, 1}).Build());
  Slice(gpus[6],
        MigBuilder(A100Profiles(), 6).Add("3g.20gb", 0, 1, {}).Add("3g.20gb", 4, 2, {3}).Build());
  gpus[7].mig->pending_enabled = true;
  LinkThroughSwitches(inventory);
  return Report("dgx-a100-40", std::move(inventory));
}

NodeReport DgxA100Full() {
  model::Inventory inventory;
  inventory.driver = Driver580();
  for (std::uint32_t i = 0; i < 8; ++i) {
    Gpu gpu = A100(i);
    MigBuilder builder(A100Profiles(), i);
    std::vector<model::Process> processes;
    for (std::uint32_t s = 0; s < 7; ++s) {
      builder.Add("1g.5gb", s, 7 + s, {1});
      processes.push_back(In(Holder(70000 + 10 * i + s, "python3", 4 * kGibi), 7 + s, 0));
    }
    Slice(gpu, builder.Build());
    Hold(gpu, std::move(processes));
    inventory.gpus.push_back(std::move(gpu));
  }
  LinkThroughSwitches(inventory);
  return Report("dgx-a100-40", std::move(inventory));
}

NodeReport MixedProducts() {
  model::Inventory inventory;
  inventory.driver = Driver580();
  Gpu t4;
  t4.index = GpuIndex(0);
  t4.minor = model::DeviceMinor(0);
  t4.uuid = model::GpuUuid("GPU-1d1a2b3c-0000-4000-8000-000000000001");
  t4.name = "Tesla T4";
  t4.pci = {0, 0x3b, 0, 0};
  t4.numa_node = 0;
  t4.architecture = model::Architecture::kTuring;
  Fill(t4, 16106127360, 460 * kMebi, 11 * kGibi);
  t4.persistence = false;
  t4.ecc = true;
  t4.ecc_pending = false;
  t4.pcie_width = 8;
  t4.pcie_width_max = 16;
  t4.readings.utilization = Percent(43);
  t4.readings.temperature = Celsius(71);
  t4.readings.power = Milliwatts(69400);
  t4.readings.power_limit = Milliwatts(70000);
  t4.processes = {Holder(901, "/opt/ffmpeg/bin/ffmpeg", 11 * kGibi)};

  Gpu a30;
  a30.index = GpuIndex(1);
  a30.minor = model::DeviceMinor(1);
  a30.uuid = model::GpuUuid("GPU-2e1a2b3c-0000-4000-8000-000000000002");
  a30.name = "NVIDIA A30";
  a30.pci = {0, 0xaf, 0, 0};
  a30.numa_node = 1;
  Fill(a30, 24 * kGibi, 600 * kMebi, 0);
  Slice(a30, MigBuilder({Profile({0, 14, "1g.6gb", 1, 4, 14, 5952, {0, 1, 2, 3}, 1}),
                         Profile({1, 5, "2g.12gb", 2, 2, 28, 11968, {0, 2}, 2}),
                         Profile({3, 0, "4g.24gb", 4, 1, 56, 24000, {0}, 4})},
                        1)
                 .Add("1g.6gb", 1, 4, {1})
                 .Remaining("1g.6gb", 3)
                 .Remaining("2g.12gb", 1)
                 .Build());

  Gpu pro;
  pro.index = GpuIndex(2);
  pro.minor = model::DeviceMinor(2);
  pro.uuid = model::GpuUuid("GPU-3f1a2b3c-0000-4000-8000-000000000003");
  pro.name = "NVIDIA RTX PRO 6000 Blackwell Server Edition";
  pro.pci = {1, 0xd8, 0, 0};
  pro.numa_node = 1;
  Fill(pro, 96 * kGibi, 700 * kMebi, 0);
  Slice(pro, MigBuilder({Profile({0, 14, "1g.24gb", 1, 4, 46, 24192, {0, 3, 6, 9}, 3}),
                         Profile({15, 21, "1g.24gb+me.all", 1, 1, 46, 24192, {0, 3, 6, 9}, 3}),
                         Profile({1, 5, "2g.48gb", 2, 2, 94, 48640, {0, 6}, 6}),
                         Profile({3, 0, "4g.96gb", 4, 1, 188, 97536, {0}, 12})},
                        2)
                 .Add("2g.48gb", 0, 1, {1, 1})
                 .Add("1g.24gb+me.all", 6, 5, {1})
                 .Remaining("1g.24gb", 1)
                 .Build());
  inventory.gpus = {std::move(t4), std::move(a30), std::move(pro)};
  inventory.links = {
      {inventory.gpus[0].pci, inventory.gpus[1].pci, model::PathLevel::kSystem, 0},
      {inventory.gpus[0].pci, inventory.gpus[2].pci, model::PathLevel::kSystem, 0},
      {inventory.gpus[1].pci, inventory.gpus[2].pci, model::PathLevel::kNumaNode, 2}};
  return Report("mixed", std::move(inventory));
}

NodeReport FaultyNode() {
  model::Inventory inventory;
  inventory.driver = Driver580();
  Gpu lost = A100(1);
  lost.memory.reset();
  lost.mig.reset();
  lost.readings = {};
  lost.persistence.reset();
  lost.compute_mode.reset();
  lost.ecc.reset();
  lost.faults = {{model::FaultKind::kLost,
                  "the GPU has fallen off the bus. Stop its users and reboot the node; if it comes "
                  "back lost, have the board and its power checked"}};
  Gpu hung = A100(2);
  hung.mig.reset();
  hung.readings = {};
  hung.readings.temperature = Celsius(41);
  hung.faults = {
      {model::FaultKind::kHung,
       "no answer to nvmlDeviceGetUtilizationRates within 2 s. The driver may be stuck in "
       "the kernel: see dmesg, and reset the GPU once nothing uses it"}};
  Gpu missing;
  missing.pci = {0, 0x4e, 0, 0};
  missing.pci_device_id = 0x20B010DE;
  missing.numa_node = 1;
  missing.faults = {{model::FaultKind::kMissing,
                     "bound to the nvidia driver but unknown to NVML. See dmesg for why the driver "
                     "could not start it"}};
  inventory.gpus = {A100(0), std::move(lost), std::move(hung), std::move(missing)};
  inventory.problems = {
      {"2", base::Error(base::ErrorCode::kTimeout, "no answer within 2 s")
                .Within("nvmlDeviceGetUtilizationRates")
                .Within("read load")},
      {"", base::Error(base::ErrorCode::kDenied,
                       "open /proc/driver/nvidia-caps/mig-minors: permission denied")
               .WithNative({base::NativeKind::kErrno, 13})
               .WithHint("run as root, or give this user the right to read the driver's files")}};
  return Report("gpu-node-17", std::move(inventory));
}

NodeReport VfioNode() {
  model::Inventory inventory;
  inventory.driver = Driver580();
  inventory.gpus = {A100(0)};
  inventory.vfio = {
      {.pci = {0, 0x47, 0, 0}, .pci_device_id = 0x20B010DE, .numa_node = 1, .iommu_group = 71},
      {.pci = {0, 0x4e, 0, 0}, .pci_device_id = 0x20B010DE, .numa_node = 1, .iommu_group = 72}};
  return Report("virt-3", std::move(inventory));
}

NodeReport NoDriver() {
  model::Inventory inventory;
  inventory.driver_error =
      base::Error(base::ErrorCode::kUnavailable,
                  "no NVIDIA driver answers on this machine: tried libnvidia-ml.so.1 (not found), "
                  "/usr/lib64/libnvidia-ml.so.1 (not found)")
          .WithHint("install the NVIDIA driver, or name its place with --driver-root or --library");
  return Report("laptop", std::move(inventory));
}

NodeReport KubernetesNode() {
  const std::string id = "3f2a1b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708";
  const std::string uid = "6f0cd0a4-90a1-4f3c-8f4f-2b1a6c7d8e9f";
  model::Inventory inventory;
  inventory.driver = Driver580();
  inventory.gpus = {A100(0), A100(1)};
  std::vector<Gpu>& gpus = inventory.gpus;
  Busy(gpus[0], 38 * kGibi, 97, 389);
  gpus[0].processes = {Holder(48211, "/usr/bin/python3 train.py --config big.yaml", 38 * kGibi)};
  gpus[0].processes[0].container = model::Container{id, "main", uid, "default", "train-0"};
  Slice(gpus[1],
        MigBuilder(A100Profiles(), 1).Add("3g.20gb", 0, 2, {3}).Add("2g.10gb", 4, 5, {2}).Build());
  Hold(gpus[1], {In(Holder(50101, "tritonserver", 3 * kGibi), 2, 0),
                 In(Holder(50102, "python3", 3 * kGibi), 2, 0),
                 In(Holder(50344, "a.out", kGibi), 5, 0), In(Holder(50345, "nvtop", kGibi), 5, 0)});
  std::vector<model::Process>& processes = gpus[1].processes;
  processes[0].container =
      model::Container{id, "triton", uid, "machine-learning", "inference-server-7d4b9c6f58-x2x7q"};
  processes[1].container = model::Container{id, "", uid, "", ""};
  processes[2].container = model::Container{id, "", "", "", ""};
  return Report("kube-node-1", std::move(inventory));
}

NodeReport HostileNames() {
  NodeReport report = H200Idle();
  report.host = "h\x1b[2Jost";
  Gpu& gpu = report.inventory.gpus[0];
  gpu.processes = {
      Holder(1, "\x1b]0;owned\x07rm -rf", kGibi), Holder(2, "\xff\xfe\x80", kGibi),
      Holder(3, "/usr/bin/\xe8\xae\xad\xe7\xbb\x83\xe5\xa4\xa7\xe6\xa8\xa1\xe5\x9e\x8b.py", kGibi),
      Holder(4, "", kGibi), Holder(4194304, "a\nb\tc", kGibi)};
  gpu.processes[3].memory.reset();
  return report;
}

}  // namespace partita::model::testing
