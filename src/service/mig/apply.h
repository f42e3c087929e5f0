// Makes a node what it shall be, or says exactly what it is.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/inventory_reader.h"
#include "hw/mig_control.h"
#include "model/inventory.h"
#include "service/mig/gpu_report.h"
#include "service/mig/node_goal.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {

// Asked once for each change that is about to do something, before the first call that changes.
using ChangeGate = std::function<base::Result<void>(const model::Inventory& node,
                                                    const std::vector<GpuSteps>& steps)>;

struct ApplyOptions {
  bool skip_reset = false;  // modes that need a reset stay pending
  bool mode_only = false;   // instances are left as they are, except on GPUs whose mode changes
  // What somebody was shown and agreed to (AllSteps): nothing else is begun, and what it leaves
  // stays.
  std::optional<std::vector<GpuSteps>> agreed = std::nullopt;
  model::PinnedParts pinned = {};  // that somebody was given: they stay as they are
  // Asked once, when something is to be done: after the plan and the agreement, before the first
  // call that changes anything. Its error ends it, with nothing changed (kBusy: who holds what).
  // Empty: nobody is asked.
  ChangeGate gate = nullptr;
};

// Told before (`done` false) and after each step that succeeded.
struct Progress {
  std::function<void(const std::string& gpu, const std::string& step, bool done)> step;
};

// Called for each look at the node, since ids of instances are of one look.
using NodeGoalFn = std::function<base::Result<NodeGoal>(const model::Inventory&)>;

// Reads, plans, carries out, and verifies by reading again. An error means that nothing was
// changed: kNoDriver without a driver, kConflict when no layout does it, kBusy when something in
// use stands in the way, with who, or a call that was given up keeps the session open that a reset
// needs closed.
//
// GPUs are independent: where a create fails, that GPU is planned once more without the place that
// failed (though never so that it takes what the agreed plan leaves), then put back as it was; the
// others are finished. A GPU whose call was given up is left alone from there on, since the call
// may still run, and reported as unknown. `stop` ends it after the current driver call, or a reset
// while it waits, also while it plans a GPU once more, and puts back every GPU that was changed;
// the way back itself goes to its end. Nothing is kept between calls: whatever a killed one left
// behind is where the next one starts from.
//
// The caller holds the changing lock (lock.h).
[[nodiscard]] base::Result<ApplyReport> Apply(hw::InventoryReader& reader,
                                              hw::MigControl& control,
                                              const NodeGoalFn& goal,
                                              const ApplyOptions& options,
                                              const Progress& progress,
                                              std::atomic<bool>* stop);

}  // namespace partita::service::mig
