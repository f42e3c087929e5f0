#include "service/mps/strangers.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::service::mps {
namespace {

// Of more the number is enough.
constexpr std::size_t kMostNamed = 4;

// A part of a GPU, by the driver's ids of now; both absent: all of it.
struct Part {
  const model::Gpu* gpu = nullptr;  // null: it is not there
  std::optional<model::GpuInstanceId> gpu_instance = {};
  std::optional<model::ComputeInstanceId> compute_instance = {};
};

Part MigPartOf(const std::string& uuid, const model::Gpu& gpu) {
  if (!gpu.mig) return {};
  for (const model::GpuInstance& instance : gpu.mig->instances) {
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      if (compute.uuid.value() == uuid) return {&gpu, instance.id, compute.id};
    }
  }
  return {};
}

Part PartOf(const Member& member, const model::Inventory& inventory) {
  for (const model::Gpu& gpu : inventory.gpus) {
    if (member.mig) {
      const Part part = MigPartOf(member.uuid, gpu);
      if (part.gpu != nullptr) return part;
    } else if (gpu.uuid && gpu.uuid->value() == member.uuid) {
      return {.gpu = &gpu};
    }
  }
  return {};
}

bool Computes(const model::Process& process, const Part& part) {
  // One without a name has ended just now.
  if (process.kind != model::ProcessKind::kCompute || process.name.empty()) return false;
  constexpr std::string_view kServer = "nvidia-cuda-mps-server";
  if (process.name == kServer || process.name.ends_with("/" + std::string(kServer))) return false;
  return !part.gpu_instance || (process.gpu_instance == part.gpu_instance &&
                                process.compute_instance == part.compute_instance);
}

std::string Described(const model::Process& process) {
  const std::string program = process.name.substr(process.name.rfind('/') + 1);
  const bool pod = process.container && !process.container->pod_name.empty();
  return fmt::format("process {} ({}{})", process.pid, program,
                     pod ? fmt::format(", pod {}/{}", process.container->pod_namespace,
                                       process.container->pod_name)
                         : "");
}

}  // namespace

std::vector<model::Process> StrangersOn(const Domain& domain, const model::Inventory& inventory) {
  std::vector<model::Process> strangers;
  for (const Member& member : domain.members) {
    const Part part = PartOf(member, inventory);
    if (part.gpu == nullptr) continue;
    for (const model::Process& process : part.gpu->processes) {
      const bool known =
          std::any_of(strangers.begin(), strangers.end(),
                      [&](const model::Process& one) { return one.pid == process.pid; });
      if (!known && Computes(process, part)) strangers.push_back(process);
    }
  }
  return strangers;
}

std::string TellOfStrangers(const std::vector<model::Process>& strangers) {
  if (strangers.empty()) return "";
  std::vector<std::string> described, pids;
  for (const model::Process& process : strangers) {
    pids.push_back(fmt::format("{}", process.pid));
    if (described.size() < kMostNamed) described.push_back(Described(process));
  }
  const std::size_t more = strangers.size() - described.size();
  if (more > 0) described.push_back(fmt::format("{} more", more));
  const bool one = strangers.size() == 1;
  return fmt::format(
      "{} {} there without MPS: no limit holds {}, and while the GPU is exclusive nobody else gets "
      "in; end {} (kill {}), and what starts anew is under MPS",
      base::Join(described, ", "), one ? "computes" : "compute", one ? "it" : "them",
      one ? "it" : "them", base::Join(pids, " "));
}

}  // namespace partita::service::mps
