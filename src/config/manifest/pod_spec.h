// The part of a manifest that is a pod's specification.
#pragma once

#include "config/document.h"
#include "config/manifest/pod_manifest.h"
#include "config/problems.h"

namespace partita::config {

// Reads `spec` into `pod`: what the API server would refuse goes to its flaws, what cannot be
// understood at all to `problems`.
void ReadPodSpec(const Node& spec, Problems& problems, PodManifest& pod);

// The position of a node without what it contains.
[[nodiscard]] Node PositionOf(const Node& node);

}  // namespace partita::config
