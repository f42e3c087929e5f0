// What is made of an XID on this node: the operator's rules, the two variables of NVIDIA's plugin,
// then a preset. What the driver asks for stands between (recovery_action.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/xid_overrides.h"
#include "config/xid_rule.h"
#include "service/health/xid_table.h"

namespace partita::service::health {

enum class Preset : std::uint8_t {
  kCatalogue,  // data/health/xids.yaml
  kReference,  // NVIDIA's plugin: all but six are fatal
  kGke,        // 48 alone
};

struct XidOptions {
  Preset preset = Preset::kCatalogue;
  std::vector<config::XidRule> rules = {};  // `health.xids`; the last of a code counts
  config::XidOverrides overrides = {};
};

// What becomes of the part at once.
enum class Effect : std::uint8_t { kNothing, kDegraded, kUnhealthyOnceIdle, kUnhealthy };

// How it is known to be over.
enum class Proof : std::uint8_t {
  kQuiet,        // ten minutes without another
  kApplication,  // who ran there is gone, or as kQuiet
  kReset,        // a reset or another load of the driver was seen
  kFoundAnew,    // gone from the bus and back, or another load of the driver
  kBoot,         // another boot
  kSignal,       // what said so says so no more
  kThreeLooks,   // the same, three times
};

struct Verdict {
  XidPolicy policy = XidPolicy::kIgnore;
  Effect effect = Effect::kNothing;
  Proof proof = Proof::kQuiet;
  // So long after the last one it is over without a proof.
  std::optional<std::chrono::seconds> clear_after = std::nullopt;
  // Nobody named this code: the driver may know better.
  bool by_preset = false;
  // The row's own conditions hold too.
  bool by_table = false;
};
[[nodiscard]] Verdict Judge(const XidOptions& options, std::uint64_t xid);

// What to do about it, for a person.
[[nodiscard]] std::string_view Advice(XidPolicy policy);

}  // namespace partita::service::health
