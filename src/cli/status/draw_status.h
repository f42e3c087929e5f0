#pragma once

#include <string>

#include "cli/draw/drawing.h"
#include "model/node_report.h"

namespace partita::cli {

// The node for a person: header, GPUs, links, GPUs bound to vfio, what could not be read, legend.
[[nodiscard]] Lines DrawStatus(const model::NodeReport& report, bool details, const Look& look);

}  // namespace partita::cli
