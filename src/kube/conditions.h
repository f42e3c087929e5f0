// Conditions of an object's status (`kubectl describe node` lists them), as values. Pure.
#pragma once

#include <span>
#include <string>

#include "base/clock.h"
#include "base/value.h"

namespace partita::kube {

struct Condition {
  std::string type;    // "partita.dev/GPUConfigApplied"
  std::string status;  // "True", "False", "Unknown"
  std::string reason;  // one word in CamelCase
  std::string message;
  bool operator==(const Condition&) const = default;
};

// The object has it, with the same words. Times do not count.
[[nodiscard]] bool HasCondition(const base::Value& object, const Condition& condition);

// A strategic patch of the status with these and no others: what others say stays. The time of a
// transition is `now` where the status is another one than the object's, else the object's own.
[[nodiscard]] base::Value ConditionsPatch(const base::Value& object,
                                          std::span<const Condition> conditions,
                                          base::Clock::Wall now);

// "2026-01-01T00:00:00Z".
[[nodiscard]] std::string SecondsTime(base::Clock::Wall time);

}  // namespace partita::kube
