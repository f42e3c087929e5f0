#include "service/health/proof.h"

#include <algorithm>

#include "service/health/recovery_action.h"

namespace partita::service::health {
namespace {

constexpr int kLooksAfterAHang = 3;

bool Shows(const std::vector<Signal>& signals, std::initializer_list<Cause> causes) {
  return std::any_of(signals.begin(), signals.end(), [&](const Signal& signal) {
    return std::find(causes.begin(), causes.end(), signal.cause) != causes.end();
  });
}

bool IsInside(const GpuFacts::Running& running, const Part& part) {
  // One whose instance is not known may be anywhere on the GPU.
  const auto differs = [](const auto& of_part, const auto& of_process) {
    return of_part && of_process && *of_part != *of_process;
  };
  return !differs(part.gpu_instance, running.gpu_instance) &&
         !differs(part.compute_instance, running.compute_instance);
}

std::vector<model::Pid> RunningIn(const GpuFacts& gpu, const Part& part) {
  std::vector<model::Pid> pids;
  for (const GpuFacts::Running& each : *gpu.running)
    if (IsInside(each, part)) pids.push_back(each.pid);
  return pids;
}

bool ReadSince(const std::optional<Time>& read, const Fault& fault) {
  return read && *read > fault.last;
}

// What was seen since the fault, whether or not the GPU answers now. What is known from before it
// may be over without anybody having looked.
void Note(Fault& fault,
          const GpuFacts& gpu,
          const std::vector<Signal>& signals,
          const NodeFacts& node) {
  const bool heard = ReadSince(gpu.heard_at, fault);
  if (gpu.off_the_bus || (heard && Shows(signals, {Cause::kLost}))) fault.gone = true;
  if (heard && Shows(signals, {Cause::kResetRequired})) fault.asked = true;
  if (ReadSince(gpu.modes_at, fault) && AsksForReset(gpu)) fault.asked = true;
  if (ReadSince(gpu.readings_at, fault) && !fault.errors && !AnotherLife(fault.driver, node.driver))
    fault.errors = gpu.errors;
  if (!ReadSince(gpu.holders_at, fault) || !gpu.running) return;
  const std::vector<model::Pid> running = RunningIn(gpu, fault.part);
  if (!fault.processes) fault.processes = running;
  fault.was_idle = fault.was_idle || running.empty();
}

// Nothing is wrong with it that a reset would end.
bool Passes(const GpuFacts& gpu, const XidOptions& options, const std::vector<Signal>& signals) {
  return !Shows(signals, {Cause::kLost, Cause::kHung, Cause::kMissing, Cause::kUnreadable,
                          Cause::kResetRequired}) &&
         !(AsksForReset(gpu) && FollowsDriver(options));
}

bool WasReset(const Fault& fault, const GpuFacts& gpu, const NodeFacts& node) {
  // A wish that nobody follows is still a wish: only its end is a proof.
  const bool asks_no_more = fault.asked && !AsksForReset(gpu);
  return asks_no_more || fault.gone || AnotherLife(fault.driver, node.driver) ||
         (fault.errors && gpu.errors && *gpu.errors < *fault.errors);
}

bool ProcessesAreGone(const Fault& fault, const GpuFacts& gpu) {
  if (!fault.processes || !gpu.running || !ReadSince(gpu.holders_at, fault)) return false;
  const std::vector<model::Pid> running = RunningIn(gpu, fault.part);
  return std::none_of(fault.processes->begin(), fault.processes->end(), [&](model::Pid pid) {
    return std::find(running.begin(), running.end(), pid) != running.end();
  });
}

bool SignalIsGone(const Fault& fault, const GpuFacts& gpu, const std::vector<Signal>& signals) {
  if (Shows(signals, {fault.cause})) return false;
  const bool of_memory = fault.cause == Cause::kMemoryErrors ||
                         fault.cause == Cause::kRemapPending || fault.cause == Cause::kRemapFailed;
  return !of_memory || ReadSince(gpu.readings_at, fault);
}

bool IsOver(const Fault& fault,
            const GpuFacts& gpu,
            const XidOptions& options,
            const std::vector<Signal>& signals,
            const NodeFacts& node) {
  const bool passes = Passes(gpu, options, signals);
  const bool quiet = node.now - fault.last >= kQuietTime;
  switch (fault.proof) {
    case Proof::kQuiet: return quiet && !gpu.remap_pending;
    case Proof::kApplication: return passes && (quiet || ProcessesAreGone(fault, gpu));
    case Proof::kReset: return passes && !gpu.remap_pending && WasReset(fault, gpu, node);
    case Proof::kFoundAnew: return passes && (fault.gone || AnotherLife(fault.driver, node.driver));
    case Proof::kBoot: return false;
    case Proof::kSignal:
    case Proof::kThreeLooks: return SignalIsGone(fault, gpu, signals) && passes;
  }
  return false;
}

}  // namespace

void ProveAnew(Fault& fault) {
  fault.proven.reset();
  fault.passing.reset();
  fault.passed.reset();
  fault.passes = 0;
}

void Weigh(Fault& fault,
           const GpuFacts& gpu,
           const XidOptions& options,
           const std::vector<Signal>& signals,
           const NodeFacts& node) {
  Note(fault, gpu, signals, node);
  const bool answered = ReadSince(gpu.modes_at, fault);
  if (!answered && !Shows(signals, {fault.cause})) return;
  if (!answered || !IsOver(fault, gpu, options, signals, node)) {
    ProveAnew(fault);
    return;
  }
  if (!fault.passing) fault.passing = node.now;
  if (fault.passed != gpu.modes_at) ++fault.passes;
  fault.passed = gpu.modes_at;
  const int needed = fault.proof == Proof::kThreeLooks ? kLooksAfterAHang : 1;
  if (fault.passes >= needed && !fault.proven) fault.proven = fault.passing;
}

}  // namespace partita::service::health
