#include "service/mps/strangers.h"

#include <gtest/gtest.h>

namespace partita::service::mps {
namespace {

model::Process ProcessOf(std::int64_t pid, std::string name) {
  model::Process process;
  process.pid = model::Pid(pid);
  process.name = std::move(name);
  return process;
}

Domain DomainOn(const std::string& uuid) {
  Domain domain;
  domain.members.resize(1);
  domain.members[0].uuid = uuid;
  domain.members[0].mig = uuid.starts_with("MIG-");
  return domain;
}

std::vector<std::int64_t> PidsOn(const std::string& uuid, const model::Inventory& inventory) {
  std::vector<std::int64_t> pids;
  for (const model::Process& process : StrangersOn(DomainOn(uuid), inventory))
    pids.push_back(process.pid.value());
  return pids;
}

TEST(Strangers, AreThoseThatComputeAndAreNeitherServerNorClient) {
  model::Inventory inventory;
  inventory.gpus.resize(2);
  inventory.gpus[0].uuid = model::GpuUuid("GPU-1");
  inventory.gpus[1].uuid = model::GpuUuid("GPU-2");
  std::vector<model::Process>& processes = inventory.gpus[0].processes;
  processes = {ProcessOf(1, "/usr/bin/nvidia-cuda-mps-server"), ProcessOf(2, "python3"),
               ProcessOf(3, "python3"), ProcessOf(4, "Xorg"), ProcessOf(5, "")};
  processes[1].kind = model::ProcessKind::kMps;
  processes[3].kind = model::ProcessKind::kGraphics;
  inventory.gpus[1].processes = {ProcessOf(6, "nvidia-cuda-mps-server"), ProcessOf(7, "train")};
  EXPECT_EQ(PidsOn("GPU-1", inventory), std::vector<std::int64_t>{3});
  EXPECT_EQ(PidsOn("GPU-2", inventory), std::vector<std::int64_t>{7});
  EXPECT_EQ(PidsOn("GPU-3", inventory), std::vector<std::int64_t>());
}

TEST(Strangers, OnAMigDeviceAreThoseThatTheDriverSeesThere) {
  model::Inventory inventory;
  inventory.gpus.resize(1);
  model::Gpu& gpu = inventory.gpus[0];
  gpu.uuid = model::GpuUuid("GPU-1");
  gpu.mig.emplace();
  for (const std::uint32_t id : {1U, 2U}) {
    model::GpuInstance instance;
    instance.id = model::GpuInstanceId(id);
    model::ComputeInstance compute;
    compute.id = model::ComputeInstanceId(0);
    compute.uuid = model::MigUuid("MIG-" + std::to_string(id));
    instance.compute_instances.push_back(compute);
    gpu.mig->instances.push_back(instance);
  }
  gpu.processes = {ProcessOf(1, "one"), ProcessOf(2, "two"), ProcessOf(3, "somewhere")};
  for (const std::uint32_t id : {1U, 2U}) {
    gpu.processes[id - 1].gpu_instance = model::GpuInstanceId(id);
    gpu.processes[id - 1].compute_instance = model::ComputeInstanceId(0);
  }
  EXPECT_EQ(PidsOn("MIG-1", inventory), std::vector<std::int64_t>{1});
  EXPECT_EQ(PidsOn("MIG-2", inventory), std::vector<std::int64_t>{2});
  EXPECT_EQ(PidsOn("MIG-3", inventory), std::vector<std::int64_t>());
}

TEST(Strangers, AreToldWithTheirPodsAndWhatToDo) {
  EXPECT_EQ(TellOfStrangers({}), "");
  std::vector<model::Process> strangers = {ProcessOf(4711, "/usr/bin/python3")};
  strangers[0].container.emplace();
  strangers[0].container->pod_namespace = "lab";
  strangers[0].container->pod_name = "train-0";
  EXPECT_EQ(TellOfStrangers(strangers),
            "process 4711 (python3, pod lab/train-0) computes there without MPS: no limit holds "
            "it, and while the GPU is exclusive nobody else gets in; end it (kill 4711), and what "
            "starts anew is under MPS");
  for (const int pid : {5, 6, 7, 8}) strangers.push_back(ProcessOf(pid, "x"));
  EXPECT_EQ(TellOfStrangers(strangers),
            "process 4711 (python3, pod lab/train-0), process 5 (x), process 6 (x), process 7 (x), "
            "1 more compute there without MPS: no limit holds them, and while the GPU is exclusive "
            "nobody else gets in; end them (kill 4711 5 6 7 8), and what starts anew is under MPS");
}

}  // namespace
}  // namespace partita::service::mps
