// The NodeFeature object of a node: its name, and when it is written anew. Pure.
#pragma once

#include <string>

#include "base/value.h"
#include "service/labels/outputs.h"

namespace partita::service::labels {

// "nvidia-features-for-<node>", as gpu-feature-discovery has it.
[[nodiscard]] std::string NodeFeatureName(const std::string& node);
// The collection that it is in.
[[nodiscard]] std::string NodeFeatureFolder(const std::string& name_space);

// `wanted` is ToNodeFeature's. `there` is null where there is none.
[[nodiscard]] bool NodeFeatureDiffers(const base::Value& there, const base::Value& wanted);
// What is sent to replace it: the object as it is there, but for what is ours in it.
[[nodiscard]] base::Value OverNodeFeature(const base::Value& there, const base::Value& wanted);

}  // namespace partita::service::labels
