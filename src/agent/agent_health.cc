// Health in the agent's life: which errors count, by the configuration and the two variables of
// NVIDIA's plugin.

#include "agent/agent.h"

namespace partita::agent {
namespace {

service::health::Preset PresetNamed(const std::string& name) {
  if (name == "reference") return service::health::Preset::kReference;
  if (name == "gke") return service::health::Preset::kGke;
  return service::health::Preset::kCatalogue;
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
