#include "service/health/state.h"

#include <algorithm>
#include <utility>

#include "model/unread.h"

namespace partita::service::health {
namespace {

using model::FaultKind;
using model::HealthState;

// A single answer that fails proves little; what still fails after three looks does.
constexpr std::chrono::seconds kSuspected{4};

GpuFacts::Instance InstanceOf(const model::GpuUuid& gpu, const model::GpuInstance& instance) {
  GpuFacts::Instance one{instance.id, {gpu, instance.profile, instance.placement.start}, {}};
  for (const model::ComputeInstance& compute : instance.compute_instances)
    one.compute_instances.push_back(compute.id);
  return one;
}

bool IsSuspicion(Cause cause) { return cause == Cause::kMissing || cause == Cause::kUnreadable; }

}  // namespace

bool Encloses(const Part& outer, const Part& inner) {
  if (outer.gpu != inner.gpu) return false;
  if (!outer.gpu_instance) return true;
  if (outer.gpu_instance != inner.gpu_instance) return false;
  return !outer.compute_instance || outer.compute_instance == inner.compute_instance;
}

bool AnotherLife(const DriverLife& before, const DriverLife& now) {
  if (before.cut_off != now.cut_off) return true;
  return before.module != 0 && now.module != 0 && before.module != now.module;
}

std::string_view ToString(Cause cause) {
  switch (cause) {
    case Cause::kXid: return "xid";
    case Cause::kRecoveryAction: return "recovery-action";
    case Cause::kLost: return "lost";
    case Cause::kHung: return "hung";
    case Cause::kMissing: return "missing";
    case Cause::kUnreadable: return "unreadable";
    case Cause::kResetRequired: return "reset-required";
    case Cause::kRemapPending: return "remap-pending";
    case Cause::kRemapFailed: return "remap-failed";
    case Cause::kMemoryErrors: return "memory-errors";
  }
  return "";
}

std::optional<GpuFacts> FactsOf(const model::Gpu& gpu, const ReadTimes& times) {
  if (!gpu.uuid) return std::nullopt;
  GpuFacts facts;
  facts.gpu = *gpu.uuid;
  facts.faults = gpu.faults;
  facts.recovery_action = gpu.recovery_action;
  if (gpu.uncorrected_errors) facts.errors = gpu.uncorrected_errors->since_reset;
  facts.remap_pending = gpu.row_remapping && gpu.row_remapping->pending;
  if (!gpu.processes_error && gpu.hidden_holders.empty()) {
    facts.running.emplace();
    for (const model::Process& process : gpu.processes)
      facts.running->push_back({process.pid, process.gpu_instance, process.compute_instance});
  }
  if (gpu.mig && !model::WhyMigUnknown(gpu)) {
    facts.instances.emplace();
    for (const model::GpuInstance& instance : gpu.mig->instances)
      facts.instances->push_back(InstanceOf(*gpu.uuid, instance));
  }
  facts.modes_at = times.modes;
  facts.readings_at = times.readings;
  facts.holders_at = times.holders;
  facts.instances_at = times.instances;
  facts.heard_at = times.heard;
  return facts;
}

bool IsOut(const Fault& fault) {
  return fault.effect == Effect::kUnhealthy ||
         (fault.effect == Effect::kUnhealthyOnceIdle && fault.was_idle);
}

HealthState StateOf(const Fault& fault, Time now) {
  if (IsSuspicion(fault.cause) && now - fault.at < kSuspected) return HealthState::kHealthy;
  if (fault.effect == Effect::kNothing) return HealthState::kHealthy;
  if (!IsOut(fault)) return HealthState::kDegraded;
  return fault.proven ? HealthState::kRecovering : HealthState::kUnhealthy;
}

std::string_view ReasonOf(const Fault& fault) {
  switch (fault.cause) {
    case Cause::kXid: return fault.effect == Effect::kDegraded ? "Xid" : "XidCritical";
    case Cause::kRecoveryAction: return "RecoveryAction";
    case Cause::kLost: return "GpuLost";
    case Cause::kHung: return "DriverHung";
    case Cause::kMissing: return "GpuMissing";
    case Cause::kUnreadable: return "GpuUnreadable";
    case Cause::kResetRequired: return "ResetRequired";
    case Cause::kRemapPending: return "RowRemapPending";
    case Cause::kRemapFailed: return "RowRemapFailed";
    case Cause::kMemoryErrors: return "MemoryFailing";
  }
  return "";
}

const Fault* WorstFault(const Health& health, const Part& part, Time now) {
  const Fault* worst = nullptr;
  for (const Fault& fault : health.faults) {
    if (fault.part != part) continue;
    const HealthState before = worst == nullptr ? HealthState::kHealthy : StateOf(*worst, now);
    if (model::Worse(before, StateOf(fault, now))) worst = &fault;
  }
  return worst;
}

model::NodeHealth Summary(const Health& health, Time now) {
  std::set<Part> parts;
  for (const Fault& fault : health.faults) parts.insert(fault.part);
  for (const model::GpuUuid& gpu : health.unmonitored) parts.insert({.gpu = gpu});
  model::NodeHealth summary;
  for (const Part& part : parts) {
    model::PartHealth entry{.gpu = part.gpu,
                            .gpu_instance = part.gpu_instance,
                            .compute_instance = part.compute_instance,
                            .state = HealthState::kUnmonitored,
                            .reason = "Unmonitored",
                            .text =
                                "the driver tells no errors of this GPU: only what a look "
                                "finds is known"};
    if (const Fault* fault = WorstFault(health, part, now)) {
      entry.state = StateOf(*fault, now);
      entry.reason = ReasonOf(*fault);
      entry.text = fault->text;
    } else if (part.gpu_instance || !health.unmonitored.contains(part.gpu)) {
      continue;
    }
    summary.parts.push_back(std::move(entry));
  }
  return summary;
}

}  // namespace partita::service::health
