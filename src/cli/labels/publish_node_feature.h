// The NodeFeature object of a node, written once: what gpu-feature-discovery does at each look.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "service/labels/labels.h"

namespace partita::cli {

struct NodeFeaturePlace {
  std::string kubeconfig;  // empty: $KUBECONFIG, else the pod's own account
  std::string name_space;
  std::string node;
  std::string pod;  // this one, whose DaemonSet owns the object; empty: nobody
};

// Made where it is not, replaced where it differs. Waits for the answers, half a minute each at
// most. `warnings` gets what takes nothing from the labels.
[[nodiscard]] base::Result<void> PublishNodeFeature(const NodeFeaturePlace& place,
                                                    const service::labels::Labels& labels,
                                                    std::vector<std::string>& warnings);

}  // namespace partita::cli
