#include "service/device_plugin/processes.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "model/unread.h"

namespace partita::service::device_plugin {
namespace {

const model::Gpu* GpuOf(const ledger::Device& device, const model::Inventory& inventory) {
  const ledger::Board board = ledger::BoardOf(device);
  for (const model::Gpu& gpu : inventory.gpus)
    if (gpu.uuid && gpu.uuid->value() == board.value()) return &gpu;
  return nullptr;
}

// Ids of now, for a place: null where there is nothing any more.
const model::GpuInstance* InstanceOf(const ledger::MigDevice& mig, const model::Gpu& gpu) {
  if (!gpu.mig) return nullptr;
  for (const model::GpuInstance& instance : gpu.mig->instances)
    if (instance.profile == mig.profile && instance.placement.start == mig.memory.start)
      return &instance;
  return nullptr;
}

bool IsOn(const model::Process& process, const ledger::Device& device, const model::Gpu& gpu) {
  const ledger::MigDevice* mig = ledger::MigPart(device);
  if (mig == nullptr || !process.gpu_instance) return true;
  const model::GpuInstance* instance = InstanceOf(*mig, gpu);
  if (instance == nullptr || instance->id != *process.gpu_instance) return false;
  if (!process.compute_instance) return true;
  return std::any_of(instance->compute_instances.begin(), instance->compute_instances.end(),
                     [&](const model::ComputeInstance& compute) {
                       return compute.id == *process.compute_instance &&
                              compute.placement == mig->compute;
                     });
}

// A server stays when its last client has gone; clients are listed beside it.
bool IsMpsServer(const model::Process& process) {
  constexpr std::string_view kServer = "nvidia-cuda-mps-server";
  return process.name == kServer || process.name.ends_with("/" + std::string(kServer));
}

}  // namespace

bool MayBeInUse(const ledger::Device& device, const model::Inventory& inventory) {
  const model::Gpu* gpu = GpuOf(device, inventory);
  if (gpu == nullptr) return !inventory.driver;
  if (model::WhyHoldersUnknown(*gpu)) return true;
  for (const model::HiddenHolder& hidden : gpu->hidden_holders) {
    model::Process somebody;
    somebody.gpu_instance = hidden.gpu_instance;
    if (IsOn(somebody, device, *gpu)) return true;
  }
  return std::any_of(gpu->processes.begin(), gpu->processes.end(),
                     [&](const model::Process& process) {
                       return !IsMpsServer(process) && IsOn(process, device, *gpu);
                     });
}

bool MayBeUsedBy(const ledger::Hold& hold, const model::Inventory& inventory) {
  const model::Gpu* gpu = GpuOf(hold.device, inventory);
  const auto* pod = std::get_if<ledger::Pod>(&hold.owner);
  if (gpu == nullptr || pod == nullptr) return false;
  return std::any_of(
      gpu->processes.begin(), gpu->processes.end(), [&](const model::Process& process) {
        if (!IsOn(process, hold.device, *gpu) || !process.container) return false;
        const model::Container& container = *process.container;
        if (container.pod_uid.empty()) return false;
        return container.pod_name.empty() ||
               (container.pod_name == pod->name && container.pod_namespace == pod->pod_namespace);
      });
}

}  // namespace partita::service::device_plugin
