// What else a person should know of an answer.
#pragma once

#include "service/explain/explain.h"

namespace partita::service::explain {

void AddNotes(const config::PodManifest& pod, const NodeView& node, PodAnswer& answer);

}  // namespace partita::service::explain
