#include "cli/draw/slice_layout.h"

#include <algorithm>
#include <cstddef>

namespace partita::cli {

namespace {

using model::GpuInstance;
using model::GpuInstanceProfile;
using model::Mig;
using model::Placement;

std::uint64_t End(const Placement& placement) {
  return std::uint64_t{placement.start} + placement.size;
}

bool Overlap(const Placement& a, const Placement& b) {
  return a.start < End(b) && b.start < End(a);
}

std::uint32_t CountSlices(const Mig& mig) {
  std::uint64_t slices = mig.memory_slices;
  // Without profiles the driver leaves the number open; the instances show at least so many.
  if (slices == 0) {
    for (const GpuInstance& instance : mig.instances) {
      slices = std::max(slices, End(instance.placement));
    }
  }
  // More than a row of characters could show is a wrong answer, not a GPU.
  return slices <= 64 ? static_cast<std::uint32_t>(slices) : 0;
}

const GpuInstanceProfile* FindProfile(const Mig& mig, model::ProfileId id) {
  const auto found = std::find_if(mig.profiles.begin(), mig.profiles.end(),
                                  [id](const GpuInstanceProfile& p) { return p.id == id; });
  return found == mig.profiles.end() ? nullptr : &*found;
}

// Compute slices that no instance has taken.
std::uint32_t SpareCompute(const Mig& mig) {
  std::uint32_t all = 0;
  for (const GpuInstanceProfile& profile : mig.profiles) all = std::max(all, profile.slice_count);
  std::uint32_t taken = 0;
  for (const GpuInstance& instance : mig.instances) taken += ComputeSlices(mig, instance);
  return all - std::min(all, taken);
}

bool CanMakeOneMore(const Mig& mig, const GpuInstanceProfile& profile, std::uint32_t spare) {
  if (profile.remaining) return *profile.remaining > 0;
  const auto made = std::count_if(mig.instances.begin(), mig.instances.end(),
                                  [&](const GpuInstance& i) { return i.profile == profile.id; });
  return profile.slice_count <= spare && static_cast<std::uint64_t>(made) < profile.instance_count;
}

// Slices that at least one profile could still take.
std::vector<bool> OpenSlices(const Mig& mig, std::uint32_t slices) {
  std::vector<bool> open(slices, false);
  const std::uint32_t spare = SpareCompute(mig);
  for (const GpuInstanceProfile& profile : mig.profiles) {
    if (!CanMakeOneMore(mig, profile, spare)) continue;
    for (const Placement& placement : profile.placements) {
      const bool taken =
          std::any_of(mig.instances.begin(), mig.instances.end(),
                      [&](const GpuInstance& i) { return Overlap(i.placement, placement); });
      if (taken || End(placement) > slices) continue;
      for (std::uint32_t s = placement.start; s < End(placement); ++s) open[s] = true;
    }
  }
  return open;
}

}  // namespace

SliceLayout LayOutSlices(const Mig& mig) {
  SliceLayout layout;
  layout.slices = CountSlices(mig);
  std::vector<const GpuInstance*> owner(layout.slices, nullptr);
  for (const GpuInstance& instance : mig.instances) {
    const Placement& placement = instance.placement;
    bool fits = placement.size > 0 && End(placement) <= layout.slices;
    for (std::uint32_t s = placement.start; fits && s < End(placement); ++s) fits = !owner[s];
    if (!fits) {
      layout.misplaced.push_back(&instance);
      continue;
    }
    for (std::uint32_t s = placement.start; s < End(placement); ++s) owner[s] = &instance;
  }
  const std::vector<bool> open = OpenSlices(mig, layout.slices);
  for (std::uint32_t s = 0; s < layout.slices;) {
    if (owner[s] != nullptr) {
      layout.pieces.push_back({PieceKind::kInstance, owner[s]->placement, owner[s]});
      s += owner[s]->placement.size;
      continue;
    }
    const PieceKind kind = open[s] ? PieceKind::kFree : PieceKind::kStranded;
    layout.pieces.push_back({kind, {s, 1}, nullptr});
    ++s;
  }
  return layout;
}

std::uint32_t ComputeSlices(const Mig& mig, const GpuInstance& instance) {
  if (const GpuInstanceProfile* profile = FindProfile(mig, instance.profile)) {
    return profile->slice_count;
  }
  std::uint64_t slices = 0;
  for (const model::ComputeInstance& compute : instance.compute_instances) {
    slices = std::max(slices, End(compute.placement));
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(slices, 64));
}

std::vector<std::string> ProfileSpellings(std::string_view name) {
  std::vector<std::string> spellings = {std::string(name)};
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return spellings;
  const std::string slices(name.substr(0, dot));
  const std::size_t attribute = name.find_first_of("+-", dot);
  if (attribute != std::string_view::npos) {
    spellings.push_back(slices + std::string(name.substr(attribute)));
  }
  spellings.push_back(slices);
  return spellings;
}

bool Holds(const model::Process& process,
           const GpuInstance& instance,
           const model::ComputeInstance& compute) {
  return process.gpu_instance == instance.id &&
         (!process.compute_instance || process.compute_instance == compute.id);
}

}  // namespace partita::cli
