// Configurations of the partition editor (`version: v1`), made from what is there.
#pragma once

#include <string>

#include "base/result.h"
#include "base/value.h"
#include "model/inventory.h"

namespace partita::service::mig {

// The node as it is: GPUs that are alike in one entry, in order of first appearance; `devices` is
// "all" where an entry covers every GPU of its boards, and boards are named only where they differ.
[[nodiscard]] base::Result<base::Value> ExportConfig(const model::Inventory& node,
                                                     const std::string& label);

// Every configuration that makes sense on this node: off, on and empty, balanced, and each profile
// as often as it fits. kUnsupported when no GPU can do MIG or none lists profiles.
[[nodiscard]] base::Result<base::Value> GenerateConfig(const model::Inventory& node);

// A configuration as nvidia-mig-parted writes it, byte for byte: lists of GPUs and boards in one
// line, entries not indented below their name.
[[nodiscard]] std::string ConfigYaml(const base::Value& config);

}  // namespace partita::service::mig
