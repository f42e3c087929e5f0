// Health in the agent's life: which errors count, by the configuration and the two variables of
// NVIDIA's plugin.

#include <optional>

#include <fmt/format.h>

#include "agent/agent.h"
#include "model/gpu_identity.h"

namespace partita::agent {
namespace {

service::health::Preset PresetNamed(const std::string& name) {
  if (name == "reference") return service::health::Preset::kReference;
  if (name == "gke") return service::health::Preset::kGke;
  return service::health::Preset::kCatalogue;
}

// "GPU instance 3, compute instance 0 of GPU 1 (GPU-…)".
std::string NameOfPart(const model::PartHealth& part, const model::Inventory& inventory) {
  const model::Gpu* gpu = model::FindGpu(inventory, {part.gpu, {}, {}});
  std::string name = gpu != nullptr && gpu->index
                         ? fmt::format("GPU {} ({})", *gpu->index, part.gpu.value())
                         : part.gpu.value();
  if (part.compute_instance)
    return fmt::format("GPU instance {}, compute instance {} of {}", *part.gpu_instance,
                       *part.compute_instance, name);
  if (part.gpu_instance) return fmt::format("GPU instance {} of {}", *part.gpu_instance, name);
  return name;
}

struct HealthEvent {
  kube::EventType type;
  std::string reason, note;
};

// Of a part that no work may be sent to any more, or that may have some again: not where what it
// lies in is out.
std::optional<HealthEvent> EventOf(const service::health::Transition& transition,
                                   const std::string& name,
                                   const model::NodeHealth& health) {
  using model::HealthState;
  const model::PartHealth& now = transition.now;
  if (now.state == HealthState::kUnhealthy)
    return HealthEvent{kube::EventType::kWarning, "GpuUnhealthy",
                       fmt::format("{} is unhealthy ({}): {}", name, now.reason, now.text)};
  const bool was_out =
      transition.before == HealthState::kUnhealthy || transition.before == HealthState::kRecovering;
  if (!was_out || !health.Usable(now.gpu, now.gpu_instance, now.compute_instance))
    return std::nullopt;
  return HealthEvent{
      kube::EventType::kNormal, "GpuRecovered",
      now.state == HealthState::kHealthy
          ? fmt::format("{} is healthy again ({} is over)", name, now.reason)
          : fmt::format("{} takes work again, {} ({})", name, model::Word(now.state), now.reason)};
}

}  // namespace

service::health::XidOptions Agent::XidsOf(const config::AgentConfig& config) const {
  service::health::XidOptions xids;
  xids.preset = PresetNamed(config.health_preset.value);
  xids.rules = config.health_xids;
  xids.overrides = options_.xids;
  return xids;
}

void Agent::StartHealth() {
  health_.DomainsFrom([this] { return mps_.Report(); });
  health_.OnChange([this](const service::health::Transition& transition) {
    const auto event =
        EventOf(transition, NameOfPart(transition.now, node_.live().current()->inventory),
                *health_.current());
    if (event) cluster_.Tell(event->type, event->reason, event->note);
  });
  health_.OnCleared([this](const std::string& what) {
    cluster_.Tell(kube::EventType::kNormal, "GpuRecovered", what);
  });
  health_.Start({.root = config_.config.host_root.value,
                 .state_directory = options_.state_directory,
                 .xids = XidsOf(config_.config)});
}

base::Result<net::Task> Agent::PrepareHealth(const config::AgentConfig& next) {
  return net::Task([this, xids = XidsOf(next)] { health_.SetXids(xids); });
}

}  // namespace partita::agent
