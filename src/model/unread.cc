#include "model/unread.h"

#include <algorithm>
#include <utility>

namespace partita::model {

base::Error WhyNoDriver(const Inventory& inventory) {
  const base::Error none(base::ErrorCode::kNoDriver, "no driver answers on this machine");
  return base::Error(inventory.driver_error.value_or(none)).As(base::ErrorCode::kNoDriver);
}

std::optional<base::Error> WhyMigUnknown(const Gpu& gpu) {
  if (!gpu.mig && !gpu.faults.empty()) {
    return base::Error(base::ErrorCode::kUnavailable, gpu.faults.front().text)
        .WithHint("leave it out of the selection");
  }
  if (!gpu.mig_error) return std::nullopt;
  base::Error error = *gpu.mig_error;
  return std::move(error).Within("what MIG has made of it cannot be read");
}

bool TellsInstances(const Mig& mig) {
  return mig.enabled ||
         std::any_of(mig.profiles.begin(), mig.profiles.end(),
                     [](const GpuInstanceProfile& profile) { return !profile.placements.empty(); });
}

std::optional<base::Error> WhyHoldersUnknown(const Gpu& gpu) {
  if (!gpu.processes_error) return std::nullopt;
  base::Error error = *gpu.processes_error;
  return std::move(error).Within("who uses it cannot be read");
}

}  // namespace partita::model
