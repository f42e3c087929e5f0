// What is wrong with a host, and the one command that mends it: a pure function over what was read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "service/toolkit/host_facts.h"

namespace partita::service::toolkit {

enum class Level : std::uint8_t { kGood, kWarning, kBad, kNotChecked };
[[nodiscard]] std::string_view ToString(Level level);  // "good", "warning", "bad", "not-checked"

struct Finding {
  std::string id;    // what was looked at; the same one may be found more than once
  std::string what;  // a sentence without a full stop
  std::string mend;  // one command; empty: there is none, or nothing to mend
  Level level = Level::kGood;
  bool operator==(const Finding&) const = default;
};

// In the order in which things depend on each other: bus, kernel module, nodes, library, CDI,
// hooks, engines.
[[nodiscard]] std::vector<Finding> Diagnose(const HostFacts& facts);

// True when no driver answers: everything behind it can only be told in part.
[[nodiscard]] bool LacksDriver(const HostFacts& facts);

}  // namespace partita::service::toolkit
