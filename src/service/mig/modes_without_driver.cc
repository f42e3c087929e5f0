#include "service/mig/modes_without_driver.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hw/sysfs/pci.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {
namespace {

std::string Text(const base::Error& error) {
  return error.hint().empty() ? error.ToString()
                              : fmt::format("{}: {}", error.ToString(), error.hint());
}

base::Result<void> FillMode(const hw::PciMigOptions& options, model::Gpu& gpu) {
  TRY(registers, hw::PciMig::Open(gpu.pci, options));
  const hw::PciMigSupport support = registers.support();
  if (support == hw::PciMigSupport::kNone) return {};
  hw::PciMigMode mode;
  if (support == hw::PciMigSupport::kYes) {
    TRY(read, registers.ReadMode());
    mode = read;
  } else {
    gpu.faults.push_back({model::FaultKind::kUnreadable, hw::WhyUnsupported(support)});
  }
  gpu.mig.emplace();
  gpu.mig->enabled = mode.enabled;
  gpu.mig->pending_enabled = mode.pending_enabled;
  return {};
}

bool IsAsWanted(const model::Gpu& gpu, bool wanted) {
  return gpu.mig && gpu.mig->enabled == wanted && gpu.mig->pending_enabled == wanted;
}

bool IsOutOfReach(const model::Gpu& gpu, bool wanted) {
  return !gpu.faults.empty() && !IsAsWanted(gpu, wanted);
}

GpuReport ReportOf(const model::GpuIdentity& gpu, GpuEnd end, base::Error why) {
  GpuReport report{gpu, end};
  report.failures.push_back({"", std::move(why), {}});
  return report;
}

base::Result<void> ChangeMode(const model::Gpu& gpu,
                              bool wanted,
                              bool skip_reset,
                              const hw::PciMigOptions& options,
                              const Progress& progress) {
  const auto tell = [&](const std::string& step, bool done) {
    if (progress.step) progress.step(NameOf(gpu), step, done);
  };
  TRY(registers, hw::PciMig::Open(gpu.pci, options));
  TRY(mode, registers.ReadMode());
  if (mode.pending_enabled != wanted) {
    const std::string step = wanted ? "request MIG on" : "request MIG off";
    tell(step, false);
    TRY_VOID(registers.Request(wanted));
    tell(step, true);
  }
  if (mode.enabled == wanted || skip_reset) return {};
  tell("reset through PCI", false);
  TRY_VOID(registers.Reset());
  tell("reset through PCI", true);
  return {};
}

void Verify(const NodeGoal& goal, ApplyReport& report) {
  report.applied = !report.Failed();
  for (const GpuTarget& target : goal) {
    const model::Gpu* gpu = model::FindGpu(report.after, target.gpu);
    const bool wanted = target.goal.mig_enabled;
    if (gpu != nullptr && IsAsWanted(*gpu, wanted)) continue;
    report.applied = false;
    if (gpu == nullptr || !gpu->mig || gpu->mig->pending_enabled != wanted) continue;
    report.reset_required = true;
    for (GpuReport& each : report.gpus) {
      if (each.gpu.Is(*gpu) && each.end == GpuEnd::kDone) each.end = GpuEnd::kWaiting;
    }
  }
}

}  // namespace

bool NeedsPci(const hw::ReaderOptions& options, const model::Inventory& node) {
  return !node.driver && !hw::IsDriverLoaded(options.root);
}

hw::PciMigOptions PciOptions(const hw::ReaderOptions& options) {
  hw::PciMigOptions pci;
  pci.root = options.root;
  return pci;
}

base::Result<model::Inventory> LookWithoutDriver(const hw::PciMigOptions& options) {
  TRY(bus, hw::sysfs::ScanPciGpus(options.root));
  model::Inventory node;
  for (const hw::sysfs::PciGpu& on_bus : bus) {
    if (!on_bus.driver.empty()) continue;  // a virtual machine's, for one: not ours to touch
    model::Gpu gpu;
    gpu.index = model::GpuIndex(static_cast<std::uint32_t>(node.gpus.size()));
    gpu.pci = on_bus.pci;
    gpu.pci_device_id = on_bus.device_id;
    gpu.pci_subsystem_id = on_bus.subsystem_id;
    gpu.numa_node = on_bus.numa_node;
    gpu.pci_path = on_bus.path;
    gpu.name =
        fmt::format("PCI device {:04x}:{:04x}", on_bus.device_id & 0xFFFF, on_bus.device_id >> 16);
    if (const base::Result<void> filled = FillMode(options, gpu); !filled.ok()) {
      gpu.faults.push_back({model::FaultKind::kUnreadable, Text(filled.error())});
    }
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

std::vector<GpuReport> OutOfReach(const model::Inventory& node, const NodeGoal& goal) {
  std::vector<GpuReport> reports;
  for (const GpuTarget& target : goal) {
    const model::Gpu* gpu = model::FindGpu(node, target.gpu);
    if (gpu == nullptr) {
      reports.push_back(ReportOf(target.gpu, GpuEnd::kOutOfReach, GoneError(target.gpu)));
    } else if (IsOutOfReach(*gpu, target.goal.mig_enabled)) {
      reports.push_back(
          ReportOf(target.gpu, GpuEnd::kOutOfReach,
                   base::Error(base::ErrorCode::kUnavailable, gpu->faults.front().text)));
    }
  }
  return reports;
}

base::Result<ApplyReport> ApplyModesWithoutDriver(const model::Inventory& node,
                                                  const NodeGoal& goal,
                                                  bool skip_reset,
                                                  const hw::PciMigOptions& options,
                                                  const Progress& progress,
                                                  const std::atomic<bool>& stop) {
  ApplyReport report;
  report.gpus = OutOfReach(node, goal);
  for (const GpuTarget& target : goal) {
    const model::Gpu* gpu = model::FindGpu(node, target.gpu);
    const bool wanted = target.goal.mig_enabled;
    if (gpu == nullptr || IsAsWanted(*gpu, wanted) || IsOutOfReach(*gpu, wanted)) continue;
    if (stop.load()) {
      report.gpus.push_back({target.gpu, GpuEnd::kStopped});
      break;
    }
    const auto changed = ChangeMode(*gpu, wanted, skip_reset, options, progress);
    report.gpus.push_back(changed.ok() ? GpuReport{target.gpu}
                                       : ReportOf(target.gpu, GpuEnd::kFailed, changed.error()));
  }
  TRY(after, LookWithoutDriver(options));
  if (after.gpus.size() != node.gpus.size()) {
    return base::Error(base::ErrorCode::kUnavailable, "a GPU came or went during the change")
        .WithHint("see partita mig assert --mode-only, then try again");
  }
  report.after = std::move(after);
  Verify(goal, report);
  return report;
}

}  // namespace partita::service::mig
