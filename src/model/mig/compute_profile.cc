#include "model/mig/compute_profile.h"

namespace partita::model {

std::optional<std::uint32_t> ChooseComputeProfile(
    const std::vector<ComputeInstanceProfile>& offered, std::uint32_t slices) {
  const ComputeInstanceProfile* best = nullptr;
  for (const ComputeInstanceProfile& profile : offered) {
    if (profile.slice_count != slices) continue;
    const bool better = best == nullptr || profile.multiprocessors > best->multiprocessors ||
                        (profile.multiprocessors == best->multiprocessors && profile.id < best->id);
    if (better) best = &profile;
  }
  if (best == nullptr) return std::nullopt;
  return best->id;
}

}  // namespace partita::model
