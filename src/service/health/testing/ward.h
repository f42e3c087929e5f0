// A node whose GPUs get ill and well at the test's word.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/health/changes.h"

namespace partita::service::health::testing {

inline const model::GpuUuid kFirst("GPU-1"), kSecond("GPU-2");

// A GPU instance with the compute instance 0.
struct Laid {
  std::uint32_t id, profile, start;
};

// All GPUs answer each look in full. Their driver knows no recovery action until it is asked for
// one.
class Ward {
 public:
  Ward() {
    facts_.now = Time(std::chrono::hours(100));
    facts_.wall = base::Clock::Wall(std::chrono::hours(500000));
    facts_.driver.module = 1;
    for (const model::GpuUuid& gpu : {kFirst, kSecond}) {
      GpuFacts one;
      one.gpu = gpu;
      one.errors = 0;
      one.running.emplace();
      facts_.gpus.push_back(one);
    }
  }

  [[nodiscard]] static Part Gpu() { return {.gpu = kFirst}; }
  [[nodiscard]] static Part Instance(std::uint32_t id) {
    return {.gpu = kFirst, .gpu_instance = model::GpuInstanceId(id)};
  }
  [[nodiscard]] static Part Device(std::uint32_t gpu_instance, std::uint32_t compute_instance) {
    return {.gpu = kFirst,
            .gpu_instance = model::GpuInstanceId(gpu_instance),
            .compute_instance = model::ComputeInstanceId(compute_instance)};
  }

  void Xid(std::uint64_t xid, const Part& part = Gpu()) {
    health_ = OnXid(std::move(health_), options_, {part, xid}, facts_);
  }
  void SetRules(std::vector<config::XidRule> rules) {
    options_.rules = std::move(rules);
    health_ = OnOptions(std::move(health_), options_);
  }
  // Somebody publishes what was known before.
  void LookAtWhatIsKnown() { health_ = OnLook(std::move(health_), options_, facts_); }
  // Time passes, then everybody is looked at.
  void After(std::chrono::nanoseconds time) {
    facts_.now += time;
    facts_.wall += std::chrono::duration_cast<base::Clock::Wall::duration>(time);
    for (GpuFacts& gpu : facts_.gpus) {
      gpu.heard_at = facts_.now;
      if (IsSilent(gpu)) continue;
      gpu.modes_at = gpu.readings_at = gpu.holders_at = gpu.instances_at = facts_.now;
    }
    health_ = OnLook(std::move(health_), options_, facts_);
  }
  // As an agent does it: looks when it should, for so long.
  void Live(std::chrono::nanoseconds time) {
    const Time end = facts_.now + time;
    while (facts_.now < end) {
      const auto next = NextLook(health_, facts_.now).value_or(std::chrono::seconds(30));
      After(std::min<std::chrono::nanoseconds>(
          std::max<std::chrono::nanoseconds>(next, std::chrono::milliseconds(1)),
          end - facts_.now));
      ASSERT_NE(Next(), std::chrono::nanoseconds::zero()) << "it would look without end";
    }
  }

  GpuFacts& gpu(std::size_t index = 0) { return facts_.gpus.at(index); }
  void LayOut(const std::vector<Laid>& instances) {
    gpu().instances.emplace();
    for (const Laid& each : instances)
      gpu().instances->push_back({model::GpuInstanceId(each.id),
                                  {kFirst, model::ProfileId(each.profile), each.start},
                                  {model::ComputeInstanceId(0)}});
  }
  void Show(model::FaultKind kind) { gpu().faults = {{kind, "it says so"}}; }
  void ShowNothing() { gpu().faults.clear(); }
  void Ask(std::uint32_t action) {
    gpu().recovery_action = action;
    ShowNothing();
    if (action != 0) Show(model::FaultKind::kRecoveryAction);
  }
  void Run(std::int64_t pid,
           std::optional<std::uint32_t> gpu_instance = std::nullopt,
           std::optional<std::uint32_t> compute_instance = std::nullopt) {
    GpuFacts::Running running{.pid = model::Pid(pid), .gpu_instance = {}, .compute_instance = {}};
    if (gpu_instance) running.gpu_instance = model::GpuInstanceId(*gpu_instance);
    if (compute_instance) running.compute_instance = model::ComputeInstanceId(*compute_instance);
    gpu().running->push_back(running);
  }

  [[nodiscard]] model::HealthState State(const Part& part = Gpu()) const {
    const model::NodeHealth summary = Summary(health_, facts_.now);
    const model::PartHealth* worst =
        summary.Worst(part.gpu, part.gpu_instance, part.compute_instance);
    return worst == nullptr ? model::HealthState::kHealthy : worst->state;
  }
  [[nodiscard]] std::string Reason(const Part& part = Gpu()) const {
    const model::NodeHealth summary = Summary(health_, facts_.now);
    const model::PartHealth* worst =
        summary.Worst(part.gpu, part.gpu_instance, part.compute_instance);
    return worst == nullptr ? "" : worst->reason;
  }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> Next() const {
    return NextLook(health_, facts_.now);
  }

  Health health_;
  XidOptions options_;
  NodeFacts facts_;

 private:
  // One that does not answer tells nothing new.
  static bool IsSilent(const GpuFacts& gpu) {
    return std::any_of(gpu.faults.begin(), gpu.faults.end(), [](const model::Fault& fault) {
      return fault.kind == model::FaultKind::kLost || fault.kind == model::FaultKind::kHung ||
             fault.kind == model::FaultKind::kMissing ||
             fault.kind == model::FaultKind::kUnreadable;
    });
  }
};

}  // namespace partita::service::health::testing
