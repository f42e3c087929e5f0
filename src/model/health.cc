#include "model/health.h"

namespace partita::model {
namespace {

int Severity(HealthState state) {
  switch (state) {
    case HealthState::kHealthy: return 0;
    case HealthState::kUnmonitored: return 1;
    case HealthState::kDegraded: return 2;
    case HealthState::kRecovering: return 3;
    case HealthState::kUnhealthy: return 4;
  }
  return 4;
}

// Whether the part of the entry is the asked one or has it inside.
bool Encloses(const PartHealth& part,
              const GpuUuid& gpu,
              std::optional<GpuInstanceId> gpu_instance,
              std::optional<ComputeInstanceId> compute_instance) {
  if (part.gpu != gpu) return false;
  if (!part.gpu_instance) return true;
  if (part.gpu_instance != gpu_instance) return false;
  return !part.compute_instance || part.compute_instance == compute_instance;
}

}  // namespace

bool Worse(HealthState a, HealthState b) { return Severity(a) < Severity(b); }

const PartHealth* NodeHealth::Worst(const GpuUuid& gpu,
                                    std::optional<GpuInstanceId> gpu_instance,
                                    std::optional<ComputeInstanceId> compute_instance) const {
  const PartHealth* worst = nullptr;
  for (const PartHealth& part : parts) {
    if (!Encloses(part, gpu, gpu_instance, compute_instance)) continue;
    if (Worse(worst == nullptr ? HealthState::kHealthy : worst->state, part.state)) worst = &part;
  }
  return worst;
}

bool NodeHealth::Usable(const GpuUuid& gpu,
                        std::optional<GpuInstanceId> gpu_instance,
                        std::optional<ComputeInstanceId> compute_instance) const {
  const PartHealth* worst = Worst(gpu, gpu_instance, compute_instance);
  return worst == nullptr || Worse(worst->state, HealthState::kRecovering);
}

std::string_view Word(HealthState state) {
  switch (state) {
    case HealthState::kHealthy: return "healthy";
    case HealthState::kDegraded: return "degraded";
    case HealthState::kUnhealthy: return "unhealthy";
    case HealthState::kRecovering: return "recovering";
    case HealthState::kUnmonitored: return "unmonitored";
  }
  return "unhealthy";
}

}  // namespace partita::model
