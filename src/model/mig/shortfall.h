// Why wanted GPU instances cannot exist together, and what nearly does.
#pragma once

#include <string>
#include <vector>

#include "model/mig/geometry.h"

namespace partita::model {

// The rule that forbids `wanted` on an empty GPU, in words. Only for what no layout holds.
[[nodiscard]] LayoutViolation ExplainShortfall(const MigGeometry& geometry,
                                               const ProfileCounts& wanted);

// Up to three of `possible`, the most similar to `wanted` first: fewest compute slices' worth of
// instances more or less, then the larger profiles.
[[nodiscard]] std::vector<ProfileCounts> NearestCounts(const MigGeometry& geometry,
                                                       const ProfileCounts& wanted,
                                                       std::vector<ProfileCounts> possible);

}  // namespace partita::model
