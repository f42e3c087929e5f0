// What the GPUs of a node shall be.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "config/mig_config.h"
#include "model/gpu_identity.h"
#include "model/inventory.h"
#include "model/mig/plan.h"

namespace partita::service::mig {

struct GpuTarget {
  model::GpuIdentity gpu;
  model::GpuGoal goal;
  // Exactly these instances at these places, instead of goal.devices at any: what a checkpoint
  // holds, and what a failed change goes back to.
  std::optional<std::vector<model::InstanceGoal>> exact = std::nullopt;
  // The mode alone at first: names mean something once MIG is on, and the goal is to be resolved
  // again then.
  bool instances_later = false;
  bool operator==(const GpuTarget&) const = default;
};

// GPUs that nothing selects are absent, and never touched. It outlives the look it was made for: a
// GPU that is gone by then is refused.
using NodeGoal = std::vector<GpuTarget>;

// A configuration for this node's GPUs. Names are resolved for each GPU; every problem is reported
// at its place in the file (kInvalid). "all" means all GPUs that can do MIG. Two entries may name
// one GPU only if they want the same of it.
[[nodiscard]] base::Result<NodeGoal> ResolveConfig(const config::MigConfigFile& file,
                                                   const config::MigConfig& config,
                                                   const model::Inventory& inventory);

// The same for modes alone, while no driver is loaded: profiles have no meaning yet, nor have UUIDs
// and products (kInvalid). GPUs that cannot be read are among the targets, for "all" too.
[[nodiscard]] base::Result<NodeGoal> ResolveModes(const config::MigConfigFile& file,
                                                  const config::MigConfig& config,
                                                  const model::Inventory& inventory);

// Fails, at the place in the file, where an entry names a GPU by index, UUID or PCI address and
// this machine has none such: that is most likely a slip. nvidia-mig-parted passes over such
// entries.
[[nodiscard]] base::Result<void> CheckDevices(const config::MigConfigFile& file,
                                              const config::MigConfig& config,
                                              const model::Inventory& inventory);

// The mode of each GPU alone: those whose mode is right are left out, and the others are empty
// after the change.
[[nodiscard]] NodeGoal ModeOnly(const model::Inventory& inventory, const NodeGoal& goal);

// A GPU as it is, with places, as a goal: to come back to.
[[nodiscard]] GpuTarget AsItIs(const model::Gpu& gpu);

}  // namespace partita::service::mig
