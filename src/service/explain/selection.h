// Whether a pod's wishes for its node are met by this node's labels, and it bears with its taint.
#pragma once

#include "service/explain/explain.h"

namespace partita::service::explain {

// Adds a reason for each label of ours that does not fit, with what it is here and, for an older
// name, what replaced it. Labels that others set are unknown here: a note says so.
void CheckLabels(const config::PodManifest& pod, const NodeView& node, PodAnswer& answer);

// Adds a reason where the scheduler would keep it away because of our taint. Taints of others are
// not looked at.
void CheckTaint(const config::PodManifest& pod, const NodeView& node, PodAnswer& answer);

}  // namespace partita::service::explain
