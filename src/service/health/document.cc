#include "service/health/document.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <string>
#include <utility>

namespace partita::service::health {
namespace {

using base::Value;
using model::HealthState;

std::string UtcText(base::Clock::Wall time) {
  const std::time_t when = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  gmtime_r(&when, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

std::string_view ScopeOf(const Part& part) {
  if (!part.gpu_instance) return "gpu";
  return part.compute_instance ? "mig-device" : "gpu-instance";
}

Value FaultValue(const Fault& fault, Time now) {
  Value map = Value::Map();
  map.Set("scope", ScopeOf(fault.part))
      .Set("state", Word(StateOf(fault, now)))
      .Set("reason", ReasonOf(fault));
  if (fault.cause == Cause::kXid) map.Set("xid", fault.xid).Set("count", fault.count);
  map.Set("since", UtcText(fault.since)).Set("text", fault.text);
  return map;
}

// Worst first; of the same, the oldest.
Value FaultsOf(const Part& part, const Health& health, Time now) {
  std::vector<const Fault*> faults;
  for (const Fault& fault : health.faults)
    if (Encloses(fault.part, part) && StateOf(fault, now) != HealthState::kHealthy)
      faults.push_back(&fault);
  std::stable_sort(faults.begin(), faults.end(), [&](const Fault* a, const Fault* b) {
    return model::Worse(StateOf(*b, now), StateOf(*a, now));
  });
  Value list = Value::List();
  for (const Fault* fault : faults) list.Add(FaultValue(*fault, now));
  return list;
}

class Devices {
 public:
  Devices(const Health& health, Time now)
      : health_(health), summary_(Summary(health, now)), now_(now) {}

  void Add(const model::Gpu& gpu) {
    if (!gpu.uuid) return;
    list_.Add(Row(gpu, {.gpu = *gpu.uuid}, nullptr));
    if (!gpu.mig) return;
    for (const model::GpuInstance& instance : gpu.mig->instances)
      for (const model::ComputeInstance& compute : instance.compute_instances)
        list_.Add(Row(gpu, {*gpu.uuid, instance.id, compute.id}, &compute));
  }
  [[nodiscard]] bool usable() const { return usable_; }
  [[nodiscard]] Value Take() { return std::move(list_); }

 private:
  Value Row(const model::Gpu& gpu, const Part& part, const model::ComputeInstance* device) {
    const model::PartHealth* worst =
        summary_.Worst(part.gpu, part.gpu_instance, part.compute_instance);
    const bool usable = summary_.Usable(part.gpu, part.gpu_instance, part.compute_instance);
    usable_ = usable_ && usable;
    Value map = Value::Map();
    if (gpu.index) map.Set("index", gpu.index->value());
    map.Set("gpu", part.gpu.value()).Set("pci", gpu.pci.ToString());
    if (device != nullptr) {
      map.Set("mig", device->uuid.value())
          .Set("profile", device->name)
          .Set("gpuInstance", part.gpu_instance->value())
          .Set("computeInstance", part.compute_instance->value());
    }
    return map.Set("state", Word(worst == nullptr ? HealthState::kHealthy : worst->state))
        .Set("usable", usable)
        .Set("faults", FaultsOf(part, health_, now_));
  }

  const Health& health_;
  const model::NodeHealth summary_;
  const Time now_;
  Value list_ = Value::List();
  bool usable_ = true;
};

}  // namespace

Value HealthDocument(const model::Inventory& inventory,
                     const Health& health,
                     Time now,
                     const std::vector<model::MpsDomain>& domains) {
  Devices devices(health, now);
  for (const model::Gpu& gpu : inventory.gpus) devices.Add(gpu);
  Value mps = Value::List();
  bool serving = true;
  for (const model::MpsDomain& domain : domains) {
    if (!domain.problem.empty() || !domain.warning.empty()) mps.Add(ToValue(domain));
    serving = serving && domain.problem.empty();
  }
  Value document = Value::Map();
  document.Set("apiVersion", "partita.dev/health/v1")
      .Set("kind", "NodeHealth")
      .Set("usable", devices.usable() && serving)
      .Set("devices", devices.Take());
  if (!mps.items().empty()) document.Set("mps", std::move(mps));
  return document;
}

}  // namespace partita::service::health
