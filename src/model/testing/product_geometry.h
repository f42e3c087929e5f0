// GPUs for tests, from the facts of data/products: no test types a table of its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/inventory.h"
#include "model/mig/compute_profile.h"
#include "model/mig/geometry.h"

namespace partita::model::testing {

inline constexpr const char* kA100 = "A100-SXM4-40GB";

// An idle GPU of a product ("H200"), MIG off and empty, read from data/products below the working
// directory. Ends the program, with the reason, when that cannot be.
[[nodiscard]] Gpu ProductGpu(std::string_view product);

// What it can be divided into.
[[nodiscard]] MigGeometry ProductGeometry(std::string_view product);

// The same with some of its profiles only, by NVML's constants: older drivers offer fewer.
[[nodiscard]] MigGeometry ProductGeometry(std::string_view product,
                                          const std::vector<std::uint32_t>& constants);

// The compute instances that a GPU instance of the product offers, by NVML's constant of its
// profile.
[[nodiscard]] std::vector<ComputeInstanceProfile> ProductComputeProfiles(std::string_view product,
                                                                         std::uint32_t constant);

}  // namespace partita::model::testing
