// The driver calls of a plan, GPU by GPU and step by step.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/mig_control.h"
#include "model/mig/plan.h"
#include "service/mig/apply.h"

namespace partita::service::mig {

struct StepFailure {
  std::string step;
  base::Error error;
  std::optional<model::PlacedInstance> place;  // of what could not be created
};

// What is to be done on one GPU, and how far it came.
struct GpuWork {
  model::GpuIdentity gpu;
  model::MigGeometry geometry;
  std::vector<model::PlanStep> steps;

  bool touched = false;       // some driver call was made
  bool mode_active = false;   // the mode took effect at once: no reset is needed
  bool mode_pending = false;  // it waits for a reset or a reboot; nothing more can be done
  std::optional<StepFailure> failure;
  std::map<model::PlacedInstance, model::GpuInstanceId> made;
  std::map<model::PlacedInstance, std::deque<std::uint32_t>> starts;  // of computes still to make

  // Its last call was given up and may still run: nothing else may be done to the GPU. (Where that
  // was the reset, its mode waits for one in any case.)
  [[nodiscard]] bool EndIsUnknown() const {
    return failure && !mode_pending && hw::EndIsUnknown(failure->error);
  }
};

class CarryOut {
 public:
  CarryOut(hw::MigControl& control, const ApplyOptions& options, const Progress& progress)
      : control_(control), options_(options), progress_(progress) {}

  // On all GPUs: what goes, goes; then modes; one reset for all that need one; then what comes. A
  // GPU on which a step fails is left alone from there on. True unless `stop` ended it early.
  [[nodiscard]] bool Run(std::vector<GpuWork>& works, const std::atomic<bool>* stop);

 private:
  using Steps = std::vector<model::PlanStep>;
  template <typename Wanted>
  bool RunSteps(std::vector<GpuWork>& works, const std::atomic<bool>* stop, Wanted wanted);
  void RunStep(GpuWork& work, const model::PlanStep& step);
  base::Result<void> Call(GpuWork& work, const model::PlanStep& step);
  base::Result<void> SetMode(GpuWork& work, const model::PlanStep& step);
  base::Result<void> CreateCompute(GpuWork& work, const model::PlanStep& step);
  std::optional<std::uint32_t> StartOf(GpuWork& work,
                                       const model::PlanStep& step,
                                       model::GpuInstanceId instance);
  void ResetAll(std::vector<GpuWork>& works, const std::atomic<bool>* stop);
  void ResetTogether(const std::vector<GpuWork*>& works, const std::atomic<bool>* stop);
  void Tell(const GpuWork& work, const std::string& step, bool done) const;

  hw::MigControl& control_;
  const ApplyOptions& options_;
  const Progress& progress_;
};

}  // namespace partita::service::mig
