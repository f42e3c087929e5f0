// The plan for one GPU of a node: its mode, its layout, and whose work stands in the way.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/instance_key.h"
#include "model/inventory.h"
#include "model/mig/planner.h"

namespace partita::model {

// What a GPU shall be. Without MIG there are no devices.
struct GpuGoal {
  bool mig_enabled = false;
  DeviceCounts devices;
  bool operator==(const GpuGoal&) const = default;
};

enum class ModeChange : std::uint8_t { kNone, kEnable, kDisable };

// A GPU instance that must stay because somebody was given it.
struct GivenInstance {
  PlacedInstance place;
  std::string to;  // "pod default/train (main)"
  bool operator==(const GivenInstance&) const = default;
};

struct GpuPlan {
  ModeChange mode = ModeChange::kNone;
  bool enable = false;   // the mode that is wanted
  bool request = false;  // the driver must be asked; false when the wanted mode is pending already
  bool reset = false;    // takes effect only when the GPU is reset: architectures before Hopper
  LayoutPlan layout;     // what goes, goes before the mode change; what comes, comes after
  // What comes is not known yet: the driver tells what it can make only while MIG is on.
  bool instances_later = false;
  // Processes that must end first. They are named, never killed.
  std::vector<Process> blockers;
  std::vector<HiddenHolder> hidden_blockers;    // so must these, whoever they are
  std::optional<base::Error> blockers_unknown;  // somebody may be in the way: why nobody can say
  std::vector<GivenInstance> given;             // in the way, whether or not anything runs in them
  std::vector<std::string> given_whole;  // to whom the GPU as a whole was given: so are these

  [[nodiscard]] bool ChangesNothing() const;
  [[nodiscard]] bool Blocked() const {
    return !blockers.empty() || !hidden_blockers.empty() || blockers_unknown.has_value() ||
           !layout.obstacles.empty() || !given_whole.empty();
  }
  bool operator==(const GpuPlan&) const = default;
};

// Why a GPU cannot become what is wanted, whoever uses it.
struct Refusal {
  std::string text;
  std::string hint;
  std::vector<ProfileCounts> nearest;  // requests that would work
  bool operator==(const Refusal&) const = default;
};

// Before Hopper a mode change needs a GPU reset.
[[nodiscard]] bool ModeNeedsReset(const Gpu& gpu);

// A GPU that somebody holds or has reserved as a whole, or a share of the whole.
struct PinnedGpu {
  GpuUuid gpu;
  std::string to;
  bool operator==(const PinnedGpu&) const = default;
};

// What somebody holds or has reserved, of any GPU, and who.
struct PinnedParts {
  std::map<InstanceKey, std::string> instances;
  std::vector<PinnedGpu> gpus;  // one for each holder
  bool operator==(const PinnedParts&) const = default;
};

// The instances of a GPU as the planner sees them: positions in the geometry of this GPU instead of
// driver ids, and who is in use. A process that the driver assigns to no instance may use any, and
// so may one of which nobody knows. Those that are `pinned` must stay as they are, with all their
// compute instances, although nothing runs in them: somebody was given them.
[[nodiscard]] std::vector<LiveInstance> LiveInstances(const Gpu& gpu,
                                                      const MigGeometry& geometry,
                                                      const PinnedParts& pinned = {});

// The devices of a GPU, as a request would name them: what `export` shows and `assert` compares.
// GPU instances without compute instances are nobody's device.
[[nodiscard]] DeviceCounts PresentDevices(const Gpu& gpu, const MigGeometry& geometry);

// Who is in the way of this plan: of a mode change all who use the GPU, else those in what would
// have to go; of any change those who were given the whole GPU.
void NameBlockers(const Gpu& gpu, const PinnedParts& pinned, GpuPlan& plan);

// `planner` is for the geometry of this GPU. The plan is exact: GPU instances without compute
// instances that no device needs go as well.
[[nodiscard]] std::variant<GpuPlan, Refusal> PlanGpu(const Gpu& gpu,
                                                     const MigPlanner& planner,
                                                     const GpuGoal& goal,
                                                     const PinnedParts& pinned = {});

// One planner for all GPUs of a kind: making one costs more than planning with it.
class MigPlanners {
 public:
  // The GPU must be able to do MIG. The planner lives as long as this.
  [[nodiscard]] const MigPlanner& For(const Mig& mig);

 private:
  std::vector<std::unique_ptr<MigPlanner>> planners_;
};

enum class StepKind : std::uint8_t {
  kDestroyCompute,
  kDestroyInstance,
  kSetMode,
  kReset,
  kCreateInstance,
  kCreateCompute,
};

// One driver call of a plan, in order. Compute instances of an instance that is still to be made
// are named by its place.
struct PlanStep {
  StepKind kind;
  PlacedInstance place;                   // of the GPU instance
  std::optional<GpuInstanceId> instance;  // what exists already
  std::optional<ComputeInstanceId> compute;
  std::uint32_t compute_slices = 0;
  bool enable = false;  // kSetMode
  // kCreateCompute: the first of its compute slices; absent: the driver chooses.
  std::optional<std::uint32_t> compute_start = std::nullopt;
  bool operator==(const PlanStep&) const = default;
};

// Compute instances go, GPU instances go, the mode changes, then GPU instances come with their
// compute instances, the widest first: drivers place them at multiples of their width.
[[nodiscard]] std::vector<PlanStep> Steps(const GpuPlan& plan);

// "create GPU instance 3g.20gb at slice 4"
[[nodiscard]] std::string ToString(const MigGeometry& geometry, const PlanStep& step);

}  // namespace partita::model
