#include "service/health/signals.h"

#include <algorithm>
#include <utility>

#include "service/health/recovery_action.h"

namespace partita::service::health {
namespace {

using model::FaultKind;

Signal SignalOf(const model::Fault& fault, const GpuFacts& gpu) {
  switch (fault.kind) {
    case FaultKind::kLost: return {Cause::kLost, Effect::kUnhealthy, Proof::kSignal, fault.text};
    case FaultKind::kResetRequired:
      return {Cause::kResetRequired, Effect::kUnhealthy, Proof::kSignal, fault.text};
    case FaultKind::kHung:
      return {Cause::kHung, Effect::kUnhealthy, Proof::kThreeLooks, fault.text};
    case FaultKind::kMissing:
      return {Cause::kMissing, Effect::kUnhealthy, Proof::kSignal, fault.text};
    case FaultKind::kUnreadable:
      return {Cause::kUnreadable, Effect::kUnhealthy, Proof::kSignal, fault.text};
    case FaultKind::kRecoveryAction:
      return {Cause::kRecoveryAction, EffectOfAction(gpu.recovery_action.value_or(1)),
              Proof::kSignal, fault.text};
    // The XIDs that come with them say which were contained: 94, or 48 and 95.
    case FaultKind::kMemoryErrors:
      return {Cause::kMemoryErrors, Effect::kDegraded, Proof::kSignal, fault.text};
    case FaultKind::kRemapPending:
      return {Cause::kRemapPending, Effect::kUnhealthyOnceIdle, Proof::kSignal, fault.text};
    case FaultKind::kRemapFailed:
      return {Cause::kRemapFailed, Effect::kUnhealthy, Proof::kSignal, fault.text};
  }
  return {Cause::kUnreadable, Effect::kUnhealthy, Proof::kSignal, fault.text};
}

}  // namespace

std::vector<Signal> SignalsOf(const GpuFacts& gpu, const XidOptions& options) {
  std::vector<Signal> signals;
  for (const model::Fault& fault : gpu.faults) {
    Signal signal = SignalOf(fault, gpu);
    if (signal.cause == Cause::kRecoveryAction && !FollowsDriver(options)) continue;
    if (std::none_of(signals.begin(), signals.end(),
                     [&](const Signal& each) { return each.cause == signal.cause; }))
      signals.push_back(std::move(signal));
  }
  return signals;
}

}  // namespace partita::service::health
