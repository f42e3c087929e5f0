// How health changes: by an XID, a look, an operator. Pure: time and facts come as arguments.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/health/state.h"

namespace partita::service::health {

struct XidEvent {
  Part part;
  std::uint64_t xid = 0;
};
// The driver told an XID. It counts at once.
[[nodiscard]] Health OnXid(Health health,
                           const XidOptions& options,
                           const XidEvent& event,
                           const NodeFacts& when);

// The GPUs were looked at, or time passed: what is wrong now, what is over, who is back.
[[nodiscard]] Health OnLook(Health health, const XidOptions& options, const NodeFacts& facts);

// Of these GPUs no event will be heard.
[[nodiscard]] Health OnMonitoring(Health health, std::set<model::GpuUuid> unmonitored);

// Other rules: what they name is judged by them at once, and what they no longer mind is over. All
// else goes on as it was judged.
[[nodiscard]] Health OnOptions(Health health, const XidOptions& options);

// An operator says that these are well. What a look still finds comes back with it.
[[nodiscard]] Health Clear(Health health, const std::function<bool(const Part&)>& meant);

// When to look next; nothing: there is no hurry.
[[nodiscard]] std::optional<std::chrono::nanoseconds> NextLook(const Health& health, Time now);

// From one summary to the next, to be told once.
struct Transition {
  model::PartHealth now;  // kHealthy: it is well again, with the reason that it had
  model::HealthState before = model::HealthState::kHealthy;
};
[[nodiscard]] std::vector<Transition> Transitions(const model::NodeHealth& before,
                                                  const model::NodeHealth& after);

}  // namespace partita::service::health
