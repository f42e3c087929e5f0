#include "service/health/instances.h"

#include <algorithm>
#include <utility>

namespace partita::service::health {
namespace {

const GpuFacts::Instance* InstanceWith(const GpuFacts& gpu, const Part& part) {
  const auto found =
      std::find_if(gpu.instances->begin(), gpu.instances->end(),
                   [&](const GpuFacts::Instance& each) { return each.id == *part.gpu_instance; });
  return found == gpu.instances->end() ? nullptr : &*found;
}

bool Has(const GpuFacts::Instance& instance, const model::ComputeInstanceId& compute) {
  return std::find(instance.compute_instances.begin(), instance.compute_instances.end(), compute) !=
         instance.compute_instances.end();
}

// The part of the same board that it is of now.
Part WhereNow(const Fault& fault, const GpuFacts& gpu) {
  const GpuFacts::Instance* there = InstanceWith(gpu, fault.part);
  if (there == nullptr || (fault.instance && *fault.instance != there->key))
    return {.gpu = fault.part.gpu};
  Part part = fault.part;
  if (part.compute_instance && !Has(*there, *part.compute_instance)) part.compute_instance.reset();
  return part;
}

// Beside one of the same kind the worse stays, or the later.
void Add(std::vector<Fault>& faults, Fault fault) {
  const auto known = std::find_if(faults.begin(), faults.end(), [&](const Fault& each) {
    return each.part == fault.part && each.cause == fault.cause && each.xid == fault.xid;
  });
  if (known == faults.end()) {
    faults.push_back(std::move(fault));
    return;
  }
  const bool stays =
      known->effect != fault.effect ? known->effect > fault.effect : known->last >= fault.last;
  const std::uint64_t count = known->count + fault.count;
  if (!stays) *known = std::move(fault);
  known->count = count;
}

}  // namespace

void FollowInstances(Health& health, const GpuFacts& gpu) {
  if (!gpu.instances) return;
  std::vector<Fault> left, moved;
  for (Fault& fault : health.faults) {
    const bool read = gpu.instances_at && *gpu.instances_at > fault.last;
    if (fault.part.gpu != gpu.gpu || !fault.part.gpu_instance || !read) {
      left.push_back(std::move(fault));
      continue;
    }
    Part now = WhereNow(fault, gpu);
    if (now == fault.part) {
      fault.instance = InstanceWith(gpu, now)->key;
      left.push_back(std::move(fault));
    } else if (fault.proof != Proof::kApplication) {
      if (!now.gpu_instance) fault.instance.reset();
      fault.part = std::move(now);
      // Of the smaller part: others may run in this one.
      fault.was_idle = false;
      fault.processes.reset();
      moved.push_back(std::move(fault));
    }
  }
  health.faults = std::move(left);
  for (Fault& fault : moved) Add(health.faults, std::move(fault));
}

}  // namespace partita::service::health
