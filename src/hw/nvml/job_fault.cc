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

}  // namespace partita::hw::nvml
