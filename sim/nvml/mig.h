// What the MIG calls share.
#pragma once

#include "sim/nvml/api.h"
#include "sim/state/mig.h"

namespace partita::sim::nvml {

inline nvmlReturn_t CodeOf(MigStatus status) {
  switch (status) {
    case MigStatus::kDone: return NVML_SUCCESS;
    case MigStatus::kNotSupported: return NVML_ERROR_NOT_SUPPORTED;
    case MigStatus::kBadPlacement: return NVML_ERROR_INVALID_ARGUMENT;
    case MigStatus::kNoRoom: return NVML_ERROR_INSUFFICIENT_RESOURCES;
    case MigStatus::kInUse: return NVML_ERROR_IN_USE;
    case MigStatus::kAbsent: return NVML_ERROR_INVALID_ARGUMENT;
  }
  return NVML_ERROR_UNKNOWN;
}

inline bool HasMig(const Board& board) { return board.mig_activation != MigActivation::kNone; }

// Changing instances needs root and the MIG config capability.
bool MayConfigureMig();

// The profile with a driver id: NOT_SUPPORTED when another board has it, INVALID_ARGUMENT when
// none.
nvmlReturn_t FindProfile(const Board& board, uint32_t id, const GiProfile** out);
// The compute-instance profile with an id, inside a live GPU instance.
nvmlReturn_t FindProfile(const Board& board,
                         const GpuInstance& gi,
                         uint32_t id,
                         const CiProfile** out);

}  // namespace partita::sim::nvml
