// How well the parts of a node's GPUs are. Whoever offers devices asks here; how a part came to be
// unwell is of service/health.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace partita::model {

enum class HealthState : std::uint8_t {
  kHealthy,
  kDegraded,     // something happened to it; work may go on
  kUnhealthy,    // no work may be sent to it
  kRecovering,   // the cause is gone; it is held back a little longer
  kUnmonitored,  // the driver cannot tell of its errors
};

// A GPU, one of its GPU instances, or one MIG device (both ids).
struct PartHealth {
  GpuUuid gpu;
  std::optional<GpuInstanceId> gpu_instance;
  std::optional<ComputeInstanceId> compute_instance;
  HealthState state = HealthState::kHealthy;
  std::string reason;  // one word: "XidCritical", "GpuLost", "DriverHung", …
  std::string text;    // for a person: what, and what to do
  bool operator==(const PartHealth&) const = default;
};

struct NodeHealth {
  std::vector<PartHealth> parts;  // only those that are not healthy

  // The worst of the part itself and what it lies in; an entry of a GPU counts for all of it, one
  // of a GPU instance for all its compute instances. Null: healthy.
  [[nodiscard]] const PartHealth* Worst(
      const GpuUuid& gpu,
      std::optional<GpuInstanceId> gpu_instance = std::nullopt,
      std::optional<ComputeInstanceId> compute_instance = std::nullopt) const;
  // Whether work may be sent there. A part that is degraded or unmonitored is usable.
  [[nodiscard]] bool Usable(const GpuUuid& gpu,
                            std::optional<GpuInstanceId> gpu_instance = std::nullopt,
                            std::optional<ComputeInstanceId> compute_instance = std::nullopt) const;

  bool operator==(const NodeHealth&) const = default;
};

// Whether `b` is worse to have than `a`.
[[nodiscard]] bool Worse(HealthState a, HealthState b);

[[nodiscard]] std::string_view Word(HealthState state);  // "unhealthy"

}  // namespace partita::model
