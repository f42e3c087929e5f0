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

}  // namespace

Spread ChooseSpots(const std::vector<Spot>& spots, config::SharePolicy policy, std::size_t count) {
  std::size_t gpus = 0;
  std::size_t devices = 0;
  for (const Spot& spot : spots) {
    gpus = std::max(gpus, spot.gpu + 1);
    devices = std::max(devices, spot.device + 1);
  }
  std::vector<Load> gpu_loads(gpus), device_loads(devices);
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < spots.size(); ++i) {
    if (spots[i].free && !spots[i].barred) free.push_back(i);
    for (Load* load : {&gpu_loads[spots[i].gpu], &device_loads[spots[i].device]}) {
      load->taken += spots[i].free ? 0 : 1;
      load->ours += spots[i].required ? 1 : 0;
    }
  }
  // Only what is picked changes its cost.
  std::vector<Cost> gpu_costs, device_costs;
  for (const Load& load : gpu_loads) gpu_costs.push_back(CostOf(load, policy));
  for (const Load& load : device_loads) device_costs.push_back(CostOf(load, policy));
  const auto cheaper = [&](const Spot& a, const Spot& b) {
    const Cost& of_a = gpu_costs[a.gpu];
    const Cost& of_b = gpu_costs[b.gpu];
    return of_a != of_b ? of_a < of_b : device_costs[a.device] < device_costs[b.device];
  };
  Spread result;
  while (result.spots.size() < count && !free.empty()) {
    auto best = free.begin();
    for (auto each = free.begin(); each != free.end(); ++each, ++result.steps)
      if (cheaper(spots[*each], spots[*best])) best = each;
    const Spot& spot = spots[*best];
    for (Load* load : {&gpu_loads[spot.gpu], &device_loads[spot.device]}) {
      ++load->taken;
      ++load->picked;
      ++load->ours;
    }
    gpu_costs[spot.gpu] = CostOf(gpu_loads[spot.gpu], policy);
    device_costs[spot.device] = CostOf(device_loads[spot.device], policy);
    result.spots.push_back(*best);
    free.erase(best);
  }
  return result;
}

}  // namespace partita::service::device_plugin
