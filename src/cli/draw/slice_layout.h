// Which part of a GPU each memory slice belongs to, ready to be drawn to scale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/inventory.h"

namespace partita::cli {

enum class PieceKind : std::uint8_t {
  kInstance,  // a GPU instance
  kFree,      // one slice that some profile could still take
  kStranded,  // one slice that nothing can use with the instances as they are
};

struct SlicePiece {
  PieceKind kind = PieceKind::kFree;
  model::Placement placement;
  const model::GpuInstance* instance = nullptr;  // inside the Mig that was laid out; kInstance only
};

struct SliceLayout {
  std::uint32_t slices = 0;
  std::vector<SlicePiece> pieces;  // from slice 0 to the last, without gaps
  // Instances whose placement overlaps another or lies outside the GPU: drivers do not report such
  // a thing, but a drawing must not hide it when one does.
  std::vector<const model::GpuInstance*> misplaced;
};

[[nodiscard]] SliceLayout LayOutSlices(const model::Mig& mig);

// Compute slices of the instance: what its profile says, else what its compute instances reach.
[[nodiscard]] std::uint32_t ComputeSlices(const model::Mig& mig,
                                          const model::GpuInstance& instance);

// Spellings of a profile from the full one to the shortest: "1g.18gb+me", "1g+me", "1g".
[[nodiscard]] std::vector<std::string> ProfileSpellings(std::string_view name);

// Whether a process runs in the instance, or in the compute instance of it.
[[nodiscard]] bool Holds(const model::Process& process,
                         const model::GpuInstance& instance,
                         const model::ComputeInstance& compute);

}  // namespace partita::cli
