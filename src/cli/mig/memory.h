// What partita applied last, kept across reboots in <state directory>/mig.json: GPU instances, and
// on Hopper and later the MIG mode too, do not survive one.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/mig/checkpoint.h"
#include "model/inventory.h"
#include "service/mig/apply.h"

namespace partita::cli {

// The GPUs of the goal as they are now, at their places; what is known of other GPUs stays. A
// failure is told on standard error and changes nothing else: the layout itself is in force.
void RememberApplied(const model::Inventory& after, const service::mig::NodeGoalFn& goal);

struct Remembered {
  std::optional<Checkpoint> layout;  // absent: nothing was applied yet
  std::string warning;               // about a damaged file
};
[[nodiscard]] base::Result<Remembered> RecallApplied();

}  // namespace partita::cli
