// What `health.xids` says of one XID.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/plugin_config.h"

namespace partita::config {

enum class XidPolicy : std::uint8_t { kIgnore, kEvent, kReset, kReboot, kReplace };
// "ignore", "event", "reset", "reboot", "replace".
[[nodiscard]] std::string_view ToString(XidPolicy policy);

struct XidRule {
  std::uint64_t xid = 0;
  XidPolicy policy = XidPolicy::kEvent;
  // So long after the last one the device counts as well again, without a proof.
  std::optional<std::chrono::seconds> clear_after = std::nullopt;
  Place place{};
  bool operator==(const XidRule&) const = default;
};

}  // namespace partita::config
