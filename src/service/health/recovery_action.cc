#include "service/health/recovery_action.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace partita::service::health {
namespace {

enum : std::uint32_t { kNone, kGpuReset, kNodeReboot, kDrainPeers, kDrainAndReset };

constexpr std::uint64_t kXidOfAction = 154;
// The driver tells an XID first and then, as XID 154, what it wants done.
constexpr std::chrono::seconds kTimeToAsk{10};

std::string WordsOfAction(std::uint32_t action) {
  switch (action) {
    case kNone: return "nothing";
    case kGpuReset: return "a reset";
    case kNodeReboot: return "a reboot";
    case kDrainPeers: return "a reset once no job spans its peers";
    case kDrainAndReset: return "a reset once it is idle";
    default: return fmt::format("recovery action {}", action);
  }
}

XidPolicy PolicyOfAction(std::uint32_t action) {
  switch (action) {
    case kGpuReset:
    case kDrainPeers:
    case kDrainAndReset: return XidPolicy::kReset;
    case kNodeReboot: return XidPolicy::kReboot;
    default: return XidPolicy::kEventDevice;
  }
}

Proof ProofOfAction(std::uint32_t action) {
  switch (PolicyOfAction(action)) {
    case XidPolicy::kReset: return Proof::kReset;
    case XidPolicy::kReboot: return Proof::kFoundAnew;
    case XidPolicy::kIgnore:
    case XidPolicy::kEventApplication:
    case XidPolicy::kEventDevice:
    case XidPolicy::kReplace: break;
  }
  return Proof::kQuiet;
}

// A driver that has lost the GPU, or its firmware, cannot say that nothing is wrong; and one that
// has asked and asks no more says that it was done.
bool MaySoften(const Fault& fault, const GpuFacts& gpu, std::chrono::nanoseconds hold) {
  return fault.effect > Effect::kDegraded && !fault.asked && !RowOf(fault.xid).blocks &&
         *gpu.modes_at - fault.last >= std::max<std::chrono::nanoseconds>(kTimeToAsk, hold);
}

}  // namespace

bool AsksForReset(const GpuFacts& gpu) {
  const std::uint32_t action = gpu.recovery_action.value_or(kNone);
  return action >= kGpuReset && action <= kDrainAndReset;
}

Effect EffectOfAction(std::uint32_t action) {
  switch (action) {
    case kNone: return Effect::kNothing;
    case kGpuReset:
    case kNodeReboot:
    case kDrainAndReset: return Effect::kUnhealthy;
    case kDrainPeers: return Effect::kUnhealthyOnceIdle;
    default: return Effect::kDegraded;  // recover the IMEX domain, and what comes later
  }
}

bool FollowsDriver(const XidOptions& options) {
  if (options.overrides.Off()) return false;
  const Verdict verdict = Judge(options, kXidOfAction);
  return verdict.by_preset || verdict.effect != Effect::kNothing;
}

void FollowDriver(Fault& fault,
                  const GpuFacts& gpu,
                  const XidOptions& options,
                  std::chrono::nanoseconds hold) {
  const bool since = gpu.modes_at && *gpu.modes_at > fault.last;
  if (fault.cause != Cause::kXid || !gpu.recovery_action || !since) return;
  if (!FollowsDriver(options) || !Judge(options, fault.xid).by_preset) return;
  const std::uint32_t action = *gpu.recovery_action;
  if (!AsksForReset(gpu) && !MaySoften(fault, gpu, hold)) return;
  fault.effect = std::max(EffectOfAction(action), Effect::kDegraded);
  fault.proof = ProofOfAction(action);
  fault.text =
      fmt::format("XID {}, {}, and the driver asks for {}: {}", fault.xid, RowOf(fault.xid).means,
                  WordsOfAction(action), Advice(PolicyOfAction(action)));
}

}  // namespace partita::service::health
