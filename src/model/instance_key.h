// A GPU instance by what stays the same while it lives. Its id does not do: drivers give ids anew,
// and by two different rules.
#pragma once

#include <compare>
#include <cstdint>

#include "model/ids.h"

namespace partita::model {

struct InstanceKey {
  GpuUuid gpu;
  ProfileId profile;
  std::uint32_t start = 0;  // first memory slice
  auto operator<=>(const InstanceKey&) const = default;
};

}  // namespace partita::model
