#include "service/health/spared.h"

#include <algorithm>

namespace partita::service::health {
namespace {

constexpr std::chrono::minutes kBetweenProbes{1};
constexpr std::uint32_t kAllOnes = 0xFFFFFFFF;

}  // namespace

std::set<model::GpuUuid> Spared(const Health& health) {
  std::set<model::GpuUuid> gpus;
  for (const Fault& fault : health.faults) {
    const bool blocks = fault.cause == Cause::kXid && RowOf(fault.xid).blocks;
    if (blocks && fault.effect == Effect::kUnhealthy && !fault.proven) gpus.insert(fault.part.gpu);
  }
  return gpus;
}

bool IsOffTheBus(const Sign& sign) { return sign.on_bus == kAllOnes; }

std::set<model::GpuUuid> Probes::Due(const std::map<model::GpuUuid, Sign>& spared, Time now) {
  std::erase_if(watches_, [&](const auto& each) { return !spared.contains(each.first); });
  std::set<model::GpuUuid> due;
  for (const auto& [gpu, sign] : spared) {
    Watch& watch = watches_.try_emplace(gpu, Watch{sign, now}).first->second;
    // That it is gone is no reason to ask it.
    const bool sign_of_life = watch.sign != sign && !IsOffTheBus(sign);
    watch.sign = sign;
    if (!sign_of_life && !watch.wanted && now - watch.last < kBetweenProbes) continue;
    watch.last = now;
    watch.wanted = false;
    due.insert(gpu);
  }
  return due;
}

void Probes::Want(const model::GpuUuid& gpu) {
  const auto watch = watches_.find(gpu);
  if (watch != watches_.end()) watch->second.wanted = true;
}

}  // namespace partita::service::health
