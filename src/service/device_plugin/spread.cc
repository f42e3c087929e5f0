#include "service/device_plugin/spread.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace partita::service::device_plugin {
namespace {

struct Load {
  std::int64_t taken = 0;   // by anybody
  std::int64_t picked = 0;  // by this call
  std::int64_t ours = 0;    // by this container: picked, or required before
};

// Smaller is better.
using Cost = std::array<std::int64_t, 2>;
Cost CostOf(const Load& load, config::SharePolicy policy) {
  switch (policy) {
    case config::SharePolicy::kDistributed: return {load.taken, load.picked};
    case config::SharePolicy::kPacked: return {-load.taken, load.picked};
    case config::SharePolicy::kSpread: return {load.ours, load.taken};
  }
  return {};
}

// Of all GPUs, or of all devices.
class Loads {
 public:
  Loads(const std::vector<Spot>& spots, std::size_t Spot::*which, config::SharePolicy policy)
      : which_(which), policy_(policy) {
    for (const Spot& spot : spots) {
      if (spot.*which_ >= loads_.size()) loads_.resize(spot.*which_ + 1);
      Load& load = loads_[spot.*which_];
      load.taken += spot.free ? 0 : 1;
      load.ours += spot.required ? 1 : 0;
    }
    for (const Load& load : loads_) costs_.push_back(CostOf(load, policy_));
  }
  [[nodiscard]] const Cost& Of(const Spot& spot) const { return costs_[spot.*which_]; }
  // Only what is picked changes its cost.
  void Pick(const Spot& spot) {
    Load& load = loads_[spot.*which_];
    ++load.taken;
    ++load.picked;
    ++load.ours;
    costs_[spot.*which_] = CostOf(load, policy_);
  }

 private:
  std::size_t Spot::*which_;
  config::SharePolicy policy_;
  std::vector<Load> loads_;
  std::vector<Cost> costs_;
};

}  // namespace

Spread ChooseSpots(const std::vector<Spot>& spots, config::SharePolicy policy, std::size_t count) {
  Loads gpus(spots, &Spot::gpu, policy), devices(spots, &Spot::device, policy);
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < spots.size(); ++i)
    if (spots[i].free && !spots[i].barred) free.push_back(i);
  const auto cheaper = [&](const Spot& a, const Spot& b) {
    return gpus.Of(a) != gpus.Of(b) ? gpus.Of(a) < gpus.Of(b) : devices.Of(a) < devices.Of(b);
  };
  Spread result;
  while (result.spots.size() < count && !free.empty()) {
    auto best = free.begin();
    for (auto each = free.begin(); each != free.end(); ++each, ++result.steps)
      if (cheaper(spots[*each], spots[*best])) best = each;
    gpus.Pick(spots[*best]);
    devices.Pick(spots[*best]);
    result.spots.push_back(*best);
    free.erase(best);
  }
  return result;
}

}  // namespace partita::service::device_plugin
