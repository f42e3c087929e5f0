// Handle values: a kind and three small numbers, written as an address in the process's reserve.
#pragma once

#include <stdint.h>

#include "sim/nvml/api.h"

namespace partita::sim::nvml {

struct HandleTarget {
  HandleKind kind;
  uint32_t gpu, gpu_instance, compute_instance;  // 0 where the kind has none
};

// False for nullptr and for anything that is not a value of this process. Never dereferences.
bool DecodeHandle(const void* handle, HandleTarget* out);

}  // namespace partita::sim::nvml
