// The driver's device nodes under /dev.
#pragma once

#include <string>
#include <vector>

#include "hw/procfs/driver_files.h"
#include "model/inventory.h"

namespace partita::hw {

// /dev/nvidia* and /dev/nvidia-caps/*, by path; character devices only, and nothing is opened.
// Paths are given as they are without `root`.
[[nodiscard]] std::vector<model::DeviceNode> ListDeviceNodes(const std::string& root);

// Nodes whose major is not the one that the driver registered: left over from an earlier load, or
// made for another machine. Opening them reaches nothing, or something else.
[[nodiscard]] std::vector<model::Problem> CheckMajors(const std::vector<model::DeviceNode>& nodes,
                                                      const procfs::Majors& majors);

}  // namespace partita::hw
