// Taints of a Node: ours among those of others. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace partita::service::labels {

// Put on nodes by whoever makes them, so that no pod comes before the agent; we only take it away.
inline constexpr std::string_view kNotReadyTaint = "partita.dev/agent-not-ready";

struct Taint {
  std::string key, value;
  std::string effect = "NoSchedule";
  bool operator==(const Taint&) const = default;
};

// "nvidia.com/gpu=present:NoSchedule", as kubectl writes it.
[[nodiscard]] std::string TaintWord(const Taint& taint);

struct TaintsWish {
  std::optional<Taint> add{};     // there it stays as it is, also with another value
  std::optional<Taint> remove{};  // only the very same
  bool ready = false;             // kNotReadyTaint goes, whatever its value and effect
};

[[nodiscard]] bool HasTaint(const base::Value& node, const Taint& taint);
// One with this key and effect, whatever its value: the API server takes no second.
[[nodiscard]] bool HasTaintLike(const base::Value& node, const Taint& taint);

// A merge patch of this version of the Node; nothing where it is as wished. Taints are one list to
// the API server: it is sent whole, and refused if somebody changed the Node meanwhile.
[[nodiscard]] std::optional<base::Value> TaintsPatch(const base::Value& node,
                                                     const TaintsWish& wish);

}  // namespace partita::service::labels
