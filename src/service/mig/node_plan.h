// The way from what a node is to what it shall be, GPU by GPU.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "model/gpu_identity.h"
#include "model/inventory.h"
#include "model/mig/geometry.h"
#include "model/mig/plan.h"
#include "service/mig/node_goal.h"

namespace partita::service::mig {

struct GpuOutcome {
  model::GpuIdentity gpu;
  model::MigGeometry geometry;
  std::variant<model::GpuPlan, model::Refusal> plan;
  bool operator==(const GpuOutcome&) const = default;
};

struct NodePlan {
  std::vector<GpuOutcome> gpus;  // in the order of the goal

  [[nodiscard]] bool ChangesNothing() const;
  [[nodiscard]] bool Refused() const;  // some GPU cannot become what is wanted
  [[nodiscard]] bool Blocked() const;  // something in use would go
  [[nodiscard]] bool NeedsReset() const;
  bool operator==(const NodePlan&) const = default;
};

// `pinned` is what somebody was given, whether or not anything runs in it yet: it is in the way as
// what is in use.
[[nodiscard]] NodePlan PlanNode(const model::Inventory& inventory,
                                const NodeGoal& goal,
                                const model::PinnedParts& pinned = {});

// What a plan does to one GPU.
struct GpuSteps {
  model::GpuIdentity gpu;
  std::vector<model::PlanStep> steps;
  bool operator==(const GpuSteps&) const = default;
};

// All that a plan does, GPU by GPU; those that it leaves alone are absent. Two plans that do the
// same are the same to whoever agreed to one, also where what stays has other users by now.
[[nodiscard]] std::vector<GpuSteps> AllSteps(const NodePlan& plan);

// The same without its resets: a mode is asked for and stays pending, which disturbs nobody.
// Whoever uses such a GPU is in the way of the reset alone, and blocks no more unless it is in an
// instance that goes.
[[nodiscard]] NodePlan WithoutResets(NodePlan plan);

// True when every GPU of the goal is as it says, and nothing beside it is left over.
[[nodiscard]] bool IsApplied(const model::Inventory& inventory, const NodeGoal& goal);
[[nodiscard]] bool IsApplied(const model::Inventory& inventory, const GpuTarget& target);

// Fails, with the name of the GPU, unless all that MIG made of it is known: what is missing from an
// inventory must not be taken for what is not there.
[[nodiscard]] base::Result<void> CheckRead(const model::Gpu& gpu);
[[nodiscard]] base::Result<void> CheckRead(const model::Inventory& inventory);

// A GPU of a goal that this look no longer has.
[[nodiscard]] base::Error GoneError(const model::GpuIdentity& gpu);

// "GPU 3", or its PCI address where it has no index.
[[nodiscard]] std::string NameOf(const model::Gpu& gpu);

// Why a GPU is refused or blocked, a line each: "GPU 0: 1g.5gb at slice 6 is in use by pid 4711
// (python3) in pod default/train (main)". Empty when it is neither.
[[nodiscard]] std::vector<std::string> Reasons(const model::Inventory& inventory,
                                               const GpuOutcome& outcome);

// What is on a GPU: "MIG on: 3g.20gb@4, 1g.5gb@0 (no compute instance)", or why nobody knows.
[[nodiscard]] std::string Describe(const model::Gpu& gpu);

}  // namespace partita::service::mig
