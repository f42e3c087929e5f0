#pragma once

#include <string>

#include "cli/draw/drawing.h"
#include "cli/status/node_report.h"

namespace partita::cli {

// The node for a person: header, GPUs, links, GPUs bound to vfio, what could not be read, legend.
[[nodiscard]] Lines DrawStatus(const NodeReport& report, bool details, const Look& look);

}  // namespace partita::cli
