// What a look finds wrong with a GPU by itself, and how bad that is.
#pragma once

#include <string>
#include <vector>

#include "service/health/state.h"

namespace partita::service::health {

struct Signal {
  Cause cause = Cause::kUnreadable;
  Effect effect = Effect::kUnhealthy;
  Proof proof = Proof::kSignal;
  std::string text;
};

// At most one of each cause.
[[nodiscard]] std::vector<Signal> SignalsOf(const GpuFacts& gpu, const XidOptions& options);

}  // namespace partita::service::health
