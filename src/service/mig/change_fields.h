// The fields of orders and ends of changes, and what model/wire.h must know to carry them.
#pragma once

#include <optional>

#include "model/gpu_identity.h"
#include "model/instance_key.h"
#include "model/inventory_codec.h"
#include "model/mig/plan.h"
#include "service/mig/change_wire.h"
#include "service/mig/gpu_report.h"

namespace partita::model {

namespace mig = service::mig;

#define F PARTITA_FIELD
PARTITA_FIELDS(InstanceKey, F(gpu), F(profile), F(start));
PARTITA_FIELDS(GpuIdentity, F(uuid), F(pci), F(index));
PARTITA_FIELDS(PlacedInstance, F(profile), F(start));
PARTITA_FIELDS(PlanStep,
               F(kind),
               F(place),
               F(instance),
               F(compute),
               F(compute_slices),
               F(enable),
               F(compute_start));
PARTITA_FIELDS(mig::GpuSteps, F(gpu), F(steps));
PARTITA_FIELDS(mig::GoalSource, F(kind), F(text), F(file), F(config), F(gpus), F(as_reference));
PARTITA_FIELDS(mig::HookOrder, F(file), F(text), F(variables), F(directory));
PARTITA_FIELDS(mig::BootSelection, F(config_file), F(hooks_file), F(config));
PARTITA_FIELDS(mig::RemoteOrder,
               F(source),
               F(skip_reset),
               F(mode_only),
               F(command),
               F(wait),
               F(in_steps),
               F(hooks),
               F(remember),
               F(selection),
               F(tell_hooks),
               F(must_agree),
               F(agreed));
PARTITA_FIELDS(mig::ChangeNews, F(kind), F(text), F(where), F(done));
PARTITA_FIELDS(mig::GpuHolders, F(processes), F(hidden));
PARTITA_FIELDS(mig::GpuFailure, F(step), F(error), F(holders));
PARTITA_FIELDS(mig::GpuReport, F(gpu), F(end), F(failures), F(why_left), F(holders));
PARTITA_FIELDS(mig::ApplyReport,
               F(applied),
               F(outdated),
               F(reset_required),
               F(stopped),
               F(gpus),
               F(goal_error),
               F(after));
PARTITA_FIELDS(mig::ChangeEnd, F(status), F(error), F(report), F(warnings), F(driver_loaded));
PARTITA_FIELDS(mig::BootChoice,
               F(selected_config),
               F(config_file),
               F(config_dir),
               F(hooks_file),
               F(gpu_clients_file),
               F(reboot));
PARTITA_FIELDS(mig::BootEnd, F(line), F(status), F(rebooting));
PARTITA_FIELDS(PinnedGpu, F(gpu), F(to));
PARTITA_FIELDS(PinnedParts, F(instances), F(gpus));
PARTITA_FIELDS(mig::PlanLook, F(node), F(pinned));
#undef F

namespace wire {

template <>
inline constexpr std::optional<StepKind> kLast<StepKind> = StepKind::kCreateCompute;
template <>
inline constexpr std::optional<mig::GoalKind> kLast<mig::GoalKind> = mig::GoalKind::kCheckpoint;
template <>
inline constexpr std::optional<mig::Remember> kLast<mig::Remember> = mig::Remember::kAwaited;
template <>
inline constexpr std::optional<mig::NewsKind> kLast<mig::NewsKind> = mig::NewsKind::kLine;
template <>
inline constexpr std::optional<mig::GpuEnd> kLast<mig::GpuEnd> = mig::GpuEnd::kOtherwise;
template <>
inline constexpr std::optional<mig::ChangeStatus> kLast<mig::ChangeStatus> =
    mig::ChangeStatus::kUndecided;

template <>
struct Blank<mig::GpuFailure> {
  static mig::GpuFailure Make() { return {"", Blank<Error>::Make(), {}}; }
};

}  // namespace wire
}  // namespace partita::model
