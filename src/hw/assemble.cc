#include "hw/assemble.h"

#include <utility>

#include "hw/device_nodes.h"
#include "hw/merge.h"
#include "hw/procfs/containers.h"
#include "hw/procfs/driver_files.h"
#include "hw/procfs/pid_namespace.h"
#include "model/hidden_holders.h"

namespace partita::hw {
namespace {

// The value, or its default with the error among the problems. Absent files are no problem: there
// may be no driver.
template <typename Value>
Value OrReport(base::Result<Value> result, std::vector<model::Problem>& problems) {
  if (result.ok()) return *std::move(result);
  if (result.error().code() != base::ErrorCode::kNotFound) {
    problems.push_back({"", std::move(result).error()});
  }
  return Value{};
}

std::vector<model::DeviceMinor> WithInstances(const model::Inventory& inventory) {
  std::vector<model::DeviceMinor> minors;
  for (const model::Gpu& gpu : inventory.gpus) {
    if (gpu.minor && gpu.mig && !gpu.mig->instances.empty()) minors.push_back(*gpu.minor);
  }
  return minors;
}

void NameProcesses(const std::string& root, model::Inventory& inventory) {
  procfs::ContainerReader containers(root);
  for (model::Gpu& gpu : inventory.gpus) {
    for (model::Process& process : gpu.processes) {
      if (process.name.empty()) process.name = procfs::ReadProcessName(root, process.pid);
      process.container = containers.Of(process.pid);
    }
  }
}

// The list of one that cannot see everybody is believed only where memory confirms it.
void FindHidden(model::Inventory& inventory) {
  for (model::Gpu& gpu : inventory.gpus) {
    gpu.hidden_holders = model::HiddenHolders(gpu);
    const bool confirmed = gpu.memory && !gpu.memory->used_counts_reserve;
    if (confirmed || gpu.processes_error || !gpu.uuid || !gpu.faults.empty()) continue;
    if (procfs::SeesAllProcesses()) continue;
    gpu.processes_error =
        base::Error(base::ErrorCode::kUnavailable,
                    "this PID namespace may hide processes, and the driver does not tell memory in "
                    "use apart from its own")
            .WithHint("run this in the host's PID namespace (in a pod: hostPID: true)");
  }
}

// "Driver not loaded" reads differently when a module is loaded all the same.
void ExplainMissingDriver(const procfs::KernelModule& module, model::Inventory& inventory) {
  if (inventory.driver || !inventory.driver_error || module.version.empty()) return;
  inventory.driver_error =
      std::move(*inventory.driver_error).Within("with kernel module " + module.version + " loaded");
}

}  // namespace

model::Inventory Assemble(const std::string& root,
                          const std::vector<sysfs::PciGpu>& bus,
                          nvml::Facts facts) {
  std::vector<model::Problem> problems;
  const auto files = OrReport(procfs::ReadGpus(root), problems);
  model::Inventory inventory = Merge(bus, files, std::move(facts));
  inventory.nodes = ListDeviceNodes(root);
  const std::vector<model::DeviceMinor> divided = WithInstances(inventory);
  if (!divided.empty()) {
    SetAccess(OrReport(procfs::ReadMigMinors(root, divided), problems), inventory);
  }
  NameProcesses(root, inventory);
  FindHidden(inventory);
  if (!inventory.driver) {
    ExplainMissingDriver(OrReport(procfs::ReadKernelModule(root), problems), inventory);
  }
  for (model::Problem& problem :
       CheckMajors(inventory.nodes, OrReport(procfs::ReadMajors(root), problems))) {
    problems.push_back(std::move(problem));
  }
  inventory.problems.insert(inventory.problems.end(), problems.begin(), problems.end());
  return inventory;
}

}  // namespace partita::hw
