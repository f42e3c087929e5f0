// What an operator said of XIDs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "config/xid_rule.h"

namespace partita::service::health::testing {

inline config::XidRule Fatal(std::uint64_t xid,
                             std::optional<std::chrono::seconds> clear_after = std::nullopt) {
  return {.xid = xid, .policy = config::XidPolicy::kReset, .clear_after = clear_after};
}

}  // namespace partita::service::health::testing
