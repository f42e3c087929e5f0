#include "hw/nvml/job_fault.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace partita::hw::nvml {
namespace {

std::string Seconds(std::chrono::nanoseconds limit) {
  return fmt::format("{:g} s", std::chrono::duration<double>(limit).count());
}

model::Fault HungFault(std::string what) {
  return {model::FaultKind::kHung,
          std::move(what) + ": see the kernel log, then reset the GPU or reboot the node"};
}

}  // namespace

model::Fault FaultFrom(const Driver::Report& report) {
  switch (report.outcome) {
    case Outcome::kDone:
    case Outcome::kHung:
      return HungFault(report.function.empty()
                           ? "the driver was too slow"
                           : fmt::format("{} did not come back within {}", report.function,
                                         Seconds(report.limit)));
    case Outcome::kQuarantined: return HungFault("a driver call has not come back");
    case Outcome::kStuck: return HungFault("the driver does not come back from any call");
    case Outcome::kCrowded: return HungFault("the driver is slow and too many calls wait for it");
    case Outcome::kReleased:
    case Outcome::kStopped:
      return {model::FaultKind::kUnreadable, "the driver is released for a change: look again"};
    case Outcome::kNoThread:
      return {model::FaultKind::kUnreadable, "no thread could be started: allow more, look again"};
    case Outcome::kNoDriver: break;
  }
  return {model::FaultKind::kUnreadable,
          report.error ? report.error->ToString() : "the driver went away: look again"};
}

base::Error ErrorFrom(const Driver::Report& report) {
  using base::ErrorCode;
  switch (report.outcome) {
    case Outcome::kDone:
    case Outcome::kHung: break;
    case Outcome::kQuarantined:
    case Outcome::kStuck:
      return base::Error(ErrorCode::kUnavailable, "an earlier driver call has not come back")
          .WithHint("see the kernel log, then reboot the node");
    case Outcome::kCrowded:
      return base::Error(ErrorCode::kUnavailable, "the GPU is slow and too many calls wait for it")
          .WithHint("see the kernel log, then try again");
    case Outcome::kReleased:
    case Outcome::kStopped:
      return base::Error(ErrorCode::kUnavailable, "the driver is released for another change")
          .WithHint("try again when that is done");
    case Outcome::kNoThread:
      return base::Error(ErrorCode::kUnavailable, "no thread could be started for it")
          .WithHint("end some programs, or allow more: ulimit -u, pids.max of the cgroup");
    case Outcome::kNoDriver: return *report.error;
  }
  const double seconds = std::chrono::duration<double>(report.limit).count();
  return base::MakeError(ErrorCode::kTimeout, "{} did not come back within {:g} s",
                         report.function.empty() ? "the driver" : report.function, seconds)
      .WithHint("see the kernel log, then reset the GPU or reboot the node");
}

}  // namespace partita::hw::nvml
