// What a change comes to when its modes wait for a reset or a reboot.
#pragma once

#include "model/inventory.h"
#include "service/mig/apply.h"
#include "service/mig/node_goal.h"

namespace partita::service::mig {

// A node as it will be once what waits has happened.
struct AwaitedNode {
  model::Inventory then;
  NodeGoal goal;  // what is as wanted by then; others failed
};
// How far a change came that left something waiting.
enum class Tried {
  kModesAlone,  // and no more was wanted
  kModesFirst,  // devices were to follow, on GPUs that do not wait as well
  kEverything
};
[[nodiscard]] AwaitedNode Await(const model::Inventory& now, const NodeGoal& goal, Tried tried);

// Has the boot service finish what waits for a reboot: remembered is what will be, and of GPUs that
// are done what is. Otherwise a boot would bring back what was applied before this.
[[nodiscard]] base::Result<void> RememberAwaited(const model::Inventory& now,
                                                 const NodeGoalFn& goal,
                                                 Tried tried);

}  // namespace partita::service::mig
