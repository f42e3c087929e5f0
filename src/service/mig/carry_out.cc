#include "service/mig/carry_out.h"

#include <algorithm>
#include <utility>

#include "model/mig/division.h"

namespace partita::service::mig {
namespace {

using model::PlanStep;
using model::StepKind;

bool Stopped(const std::atomic<bool>* stop) { return stop != nullptr && stop->load(); }

bool ComesBeforeTheReset(const PlanStep& step) {
  return step.kind == StepKind::kDestroyCompute || step.kind == StepKind::kDestroyInstance ||
         step.kind == StepKind::kSetMode;
}

bool Creates(const PlanStep& step) {
  return step.kind == StepKind::kCreateInstance || step.kind == StepKind::kCreateCompute;
}

const PlanStep* FindReset(const GpuWork& work) {
  const auto step = std::find_if(work.steps.begin(), work.steps.end(), [](const PlanStep& each) {
    return each.kind == StepKind::kReset;
  });
  return step == work.steps.end() ? nullptr : &*step;
}

model::ComputeSizes ComputeSizesAt(const GpuWork& work, const model::PlacedInstance& place) {
  model::ComputeSizes sizes;
  for (const PlanStep& step : work.steps)
    if (step.kind == StepKind::kCreateCompute && step.place == place)
      sizes.push_back(step.compute_slices);
  return sizes;
}

bool NeedsReset(const GpuWork& work) {
  return FindReset(work) != nullptr && !work.mode_active && !work.failure;
}

}  // namespace

bool CarryOut::Run(std::vector<GpuWork>& works, const std::atomic<bool>* stop) {
  if (!RunSteps(works, stop, ComesBeforeTheReset)) return false;
  if (std::any_of(works.begin(), works.end(), NeedsReset)) {
    if (Stopped(stop)) return false;
    ResetAll(works, stop);
    if (Stopped(stop)) return false;
  }
  return RunSteps(works, stop, Creates);
}

template <typename Wanted>
bool CarryOut::RunSteps(std::vector<GpuWork>& works, const std::atomic<bool>* stop, Wanted wanted) {
  for (GpuWork& work : works) {
    for (const PlanStep& step : work.steps) {
      if (!wanted(step)) continue;
      if (work.failure || work.mode_pending) break;
      if (Stopped(stop)) return false;
      RunStep(work, step);
    }
  }
  return true;
}

void CarryOut::RunStep(GpuWork& work, const PlanStep& step) {
  const std::string text = ToString(work.geometry, step);
  Tell(work, text, false);
  work.touched = true;
  base::Result<void> result = Call(work, step);
  if (result.ok()) {
    Tell(work, text, true);
    return;
  }
  work.failure = StepFailure{text, std::move(result).error(), std::nullopt};
  if (Creates(step)) work.failure->place = step.place;
}

base::Result<void> CarryOut::Call(GpuWork& work, const PlanStep& step) {
  switch (step.kind) {
    case StepKind::kDestroyCompute:
      return control_.DestroyCompute(work.gpu.pci, *step.instance, *step.compute);
    case StepKind::kDestroyInstance: return control_.DestroyInstance(work.gpu.pci, *step.instance);
    case StepKind::kSetMode: return SetMode(work, step);
    case StepKind::kReset: break;
    case StepKind::kCreateInstance: {
      const model::Placement* place = FindPlacement(work.geometry, step.place);
      PARTITA_CHECK(place != nullptr);
      TRY(id, control_.CreateInstance(work.gpu.pci, work.geometry.profiles[step.place.profile].id,
                                      *place));
      work.made[step.place] = id;
      return {};
    }
    case StepKind::kCreateCompute: return CreateCompute(work, step);
  }
  return {};
}

base::Result<void> CarryOut::SetMode(GpuWork& work, const PlanStep& step) {
  TRY(activation, control_.SetMode(work.gpu.pci, step.enable));
  const bool reset_follows = FindReset(work) != nullptr;
  switch (activation) {
    case hw::Activation::kActive: work.mode_active = true; break;
    case hw::Activation::kInUse:
      // Where a reset follows it says who is in the way, or gets through.
      if (!reset_follows) {
        return base::MakeError(base::ErrorCode::kBusy, "something holds the GPU")
            .WithHint("stop what uses it (fuser -v /dev/nvidia*), then try again");
      }
      break;
    case hw::Activation::kResetRequired: work.mode_pending = !reset_follows; break;
  }
  return {};
}

base::Result<void> CarryOut::CreateCompute(GpuWork& work, const PlanStep& step) {
  const auto made = work.made.find(step.place);
  PARTITA_CHECK(step.instance || made != work.made.end());
  const model::GpuInstanceId instance = step.instance ? *step.instance : made->second;
  TRY(id, control_.CreateCompute(work.gpu.pci, instance, step.compute_slices,
                                 StartOf(work, step, instance)));
  (void)id;
  return {};
}

// Left to themselves drivers take the first place of each, which may leave none for a later one of
// another width. Where they can be put is known only once the GPU instance exists.
std::optional<std::uint32_t> CarryOut::StartOf(GpuWork& work,
                                               const PlanStep& step,
                                               model::GpuInstanceId instance) {
  if (step.compute_start) return step.compute_start;
  const auto [starts, first] = work.starts.try_emplace(step.place);
  if (first) {
    const model::ComputeSizes sizes = ComputeSizesAt(work, step.place);
    const bool mixed = !sizes.empty() && sizes.front() != sizes.back();
    const auto offered = mixed ? control_.OfferedCompute(work.gpu.pci, instance)
                               : std::vector<model::ComputeInstanceProfile>();
    const auto places = offered.ok() ? model::PlaceCompute(*offered, {}, sizes) : std::nullopt;
    if (mixed && places) starts->second.assign(places->begin(), places->end());
  }
  if (starts->second.empty()) return std::nullopt;
  const std::uint32_t start = starts->second.front();
  starts->second.pop_front();
  return start;
}

void CarryOut::ResetAll(std::vector<GpuWork>& works, const std::atomic<bool>* stop) {
  std::vector<GpuWork*> all;
  for (GpuWork& work : works) {
    if (!NeedsReset(work)) continue;
    work.mode_pending = true;
    all.push_back(&work);
  }
  if (options_.skip_reset) return;
  ResetTogether(all, stop);
  // The tool resets all or none. Alone, those that can be reset are.
  const bool failed = std::any_of(all.begin(), all.end(),
                                  [](const GpuWork* work) { return work->failure.has_value(); });
  if (!failed || all.size() == 1 || Stopped(stop)) return;
  for (GpuWork* work : all) {
    if (Stopped(stop)) return;
    work->failure.reset();
    ResetTogether({work}, stop);
  }
}

void CarryOut::ResetTogether(const std::vector<GpuWork*>& works, const std::atomic<bool>* stop) {
  std::vector<model::PciAddress> addresses;
  std::string text;
  for (GpuWork* work : works) {
    text = ToString(work->geometry, *FindReset(*work));
    Tell(*work, text, false);
    work->touched = true;
    addresses.push_back(work->gpu.pci);
  }
  const base::Result<void> result = control_.Reset(addresses, stop);
  for (GpuWork* work : works) {
    if (result.ok()) {
      work->mode_pending = false;
      Tell(*work, text, true);
    } else {
      work->failure = StepFailure{text, result.error(), std::nullopt};
    }
  }
}

void CarryOut::Tell(const GpuWork& work, const std::string& step, bool done) const {
  if (progress_.step) progress_.step(work.gpu.Name(), step, done);
}

}  // namespace partita::service::mig
