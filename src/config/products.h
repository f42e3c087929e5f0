// GPUs that this program knows without having one: for planning where there is none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/inventory.h"

namespace partita::config {

// "A100-SXM4-40GB", …, sorted: what ProductGpu takes.
[[nodiscard]] std::vector<std::string> ProductNames();

// An idle GPU of a product, MIG off and empty. The name is taken without regard to case, with or
// without "NVIDIA ", or the start of one name only: "h100" but not "a100". kInvalid, with the names
// that there are, otherwise.
[[nodiscard]] base::Result<model::Gpu> ProductGpu(std::string_view name);

}  // namespace partita::config
