#pragma once

#include <string>

#include "cli/drawing.h"
#include "cli/node_report.h"

namespace partita::cli {

// The node for a person: header, GPUs, links, GPUs bound to vfio, what could not be read, legend.
[[nodiscard]] Lines DrawStatus(const NodeReport& report, bool details, const Look& look);

}  // namespace partita::cli
