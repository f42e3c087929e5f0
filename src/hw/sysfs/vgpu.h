// Whether an NVIDIA function is a virtual GPU, and on which host: its PCI config space says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/node_facts.h"

namespace partita::hw::sysfs {

// Of one function, from its first 256 bytes. Nothing: it is no virtual GPU. kUnavailable: less was
// read.
[[nodiscard]] base::Result<std::optional<model::VgpuHost>> ParseVgpu(std::string_view config_space);

// Of every NVIDIA function below `root`, not GPUs alone.
[[nodiscard]] base::Result<model::VgpuFacts> ReadVgpu(const std::string& root);

}  // namespace partita::hw::sysfs
