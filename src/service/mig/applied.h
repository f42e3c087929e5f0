// What partita applied last, kept across reboots in <state directory>/mig.json: GPU instances, and
// on Hopper and later the MIG mode too, do not survive one.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/state_file.h"
#include "model/inventory.h"
#include "service/mig/apply.h"
#include "service/mig/checkpoint.h"

namespace partita::service::mig {

// The GPUs of the goal as they are now, at their places; what is known of other GPUs stays. After a
// failure the layout itself is in force, but does not come back after a reboot.
[[nodiscard]] base::Result<void> RememberApplied(const model::Inventory& after,
                                                 const NodeGoalFn& goal);

struct Remembered {
  std::optional<Checkpoint> layout;  // absent: nothing was applied yet
  std::string warning;               // about a damaged file
};
[[nodiscard]] base::Result<Remembered> RecallApplied(
    const std::string& state_directory = base::StateDirectory());
// Where it is.
[[nodiscard]] std::string AppliedFile(const std::string& state_directory);

}  // namespace partita::service::mig
