// A machine whose GPU instances are made and destroyed at random, as a driver would number them,
// and whose GPUs get lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include <fmt/format.h>

#include "service/ledger/testing/grid.h"
#include "service/ledger/testing/machine.h"

namespace partita::service::ledger::testing {

class ChangingMachine {
 protected:
  explicit ChangingMachine(std::uint64_t seed) : random_(seed), machine_(Machine(kGpus)) {
    for (std::size_t gpu = 0; gpu < kGpus; ++gpu) Divide(gpu, 0, kSlices);
  }

  std::size_t Pick(std::size_t below) { return random_() % below; }
  bool Chance(std::size_t one_in) { return Pick(one_in) == 0; }

  template <typename Map>
  auto Any(Map& map) {
    auto at = map.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(Pick(map.size())));
    return at;
  }

  std::uint32_t FreeId(std::size_t gpu) const {
    std::set<std::uint32_t> used;
    for (const auto& instance : machine_.gpus[gpu].mig->instances) used.insert(instance.id.value());
    std::uint32_t id = 1;
    while (used.contains(id)) ++id;
    return id;
  }

  // As drivers do: the lowest free id, and a UUID that follows from ids alone.
  void Make(std::size_t gpu, std::size_t first, std::size_t memory, bool divided) {
    model::GpuInstance instance;
    const std::uint32_t id = FreeId(gpu);
    instance.id = model::GpuInstanceId(id);
    instance.profile = model::ProfileId(static_cast<std::uint32_t>(memory));
    instance.placement = {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(memory)};
    const std::uint32_t parts = divided && memory > 1 ? 2 : 1;
    for (std::uint32_t c = 0; c < parts; ++c) {
      model::ComputeInstance compute;
      compute.id = model::ComputeInstanceId(c);
      const auto width = static_cast<std::uint32_t>(memory) / parts;
      compute.placement = {c * width, width};
      compute.uuid = model::MigUuid(fmt::format("MIG-{}-{}-{}", gpu, id, c));
      instance.compute_instances.push_back(compute);
    }
    machine_.gpus[gpu].mig->instances.push_back(std::move(instance));
  }

  // Random instances over some slices.
  void Divide(std::size_t gpu, std::size_t first, std::size_t memory) {
    if (memory == 0 || Chance(12)) return;
    if (memory > 1 && !Chance(3)) {
      Divide(gpu, first, memory / 2);
      Divide(gpu, first + memory / 2, memory - memory / 2);
    } else {
      Make(gpu, first, memory, Chance(2));
    }
  }

  void Clear(std::size_t gpu, std::size_t first, std::size_t memory) {
    std::erase_if(machine_.gpus[gpu].mig->instances, [&](const model::GpuInstance& instance) {
      return instance.placement.start < first + memory &&
             first < instance.placement.start + instance.placement.size;
    });
  }

  [[nodiscard]] bool IsFree(std::size_t gpu, std::size_t first, std::size_t memory) const {
    const auto& all = machine_.gpus[gpu].mig->instances;
    return std::none_of(all.begin(), all.end(), [&](const model::GpuInstance& one) {
      return one.placement.start < first + memory &&
             first < one.placement.start + one.placement.size;
    });
  }

  // What a look shows: of a lost GPU nothing but that it is there.
  model::Inventory Look() const {
    model::Inventory seen = machine_;
    for (const std::size_t gpu : lost_) {
      seen.gpus[gpu].mig->instances.clear();
      seen.gpus[gpu].mig_error = base::Error(base::ErrorCode::kUnavailable, "GPU is lost");
    }
    return seen;
  }

  bool Exists(const MigDevice& device) const {
    for (const model::Gpu& gpu : machine_.gpus) {
      if (*gpu.uuid != device.gpu.uuid) continue;
      for (const model::GpuInstance& instance : gpu.mig->instances)
        for (const model::ComputeInstance& compute : instance.compute_instances)
          if (instance.profile == device.profile && instance.placement == device.memory &&
              compute.placement == device.compute && compute.uuid == device.uuid)
            return true;
    }
    return false;
  }

  struct Choice {
    Device device;
    Area area;
  };

  std::optional<Choice> AnyDevice() {
    const std::size_t gpu = Pick(kGpus);
    const auto& instances = machine_.gpus[gpu].mig->instances;
    Choice choice{GpuAt(machine_, gpu), {gpu}};
    if (!instances.empty() && !Chance(5)) {
      const std::size_t i = Pick(instances.size());
      const std::size_t c = Pick(instances[i].compute_instances.size());
      const MigDevice device = MigAt(machine_, gpu, i, c);
      choice.device = device;
      choice.area = AreaOf(gpu, device);
    }
    if (Chance(4)) {
      const std::string way = Chance(3) ? "mps" : "time-slicing";
      choice.area.share = Pick(3);
      choice.area.sharing = way + KeyOf(choice.device);
      const auto n = static_cast<std::uint32_t>(choice.area.share);
      const Sharing sharing{way, "", "r"};
      if (const auto* mig = std::get_if<MigDevice>(&choice.device)) {
        choice.device = Share{MigDevice(*mig), n, sharing};
      } else {
        choice.device = Share{WholeGpu(std::get<WholeGpu>(choice.device)), n, sharing};
      }
    }
    return choice;
  }

  static Area AreaOf(std::size_t gpu, const MigDevice& device) {
    return {gpu,
            device.memory.start,
            device.memory.size,
            device.compute.start,
            device.compute.size,
            fmt::format("{}@{}", device.profile, device.memory.start)};
  }

  // A GPU that is lost shows no new devices; what the ledger knew of it stays.
  [[nodiscard]] bool Known(const MigDevice& device) const {
    return known_.contains(fmt::format("{} {}", KeyOf(device), device.uuid));
  }
  void Remember() {
    std::erase_if(known_, [&](const auto& row) { return !lost_.contains(row.second.gpu); });
    for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
      if (lost_.contains(gpu)) continue;
      const auto& instances = machine_.gpus[gpu].mig->instances;
      for (std::size_t i = 0; i < instances.size(); ++i)
        for (std::size_t c = 0; c < instances[i].compute_instances.size(); ++c) {
          const MigDevice device = MigAt(machine_, gpu, i, c);
          known_.emplace(fmt::format("{} {}", KeyOf(device), device.uuid), AreaOf(gpu, device));
        }
    }
  }

  std::mt19937_64 random_;
  model::Inventory machine_;
  std::set<std::size_t> lost_;
  std::map<std::string, Area> known_;  // MIG devices of the last look
};

}  // namespace partita::service::ledger::testing
