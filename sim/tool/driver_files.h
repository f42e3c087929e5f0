// The files that a driver package installs, under a node's root: libraries, programs, firmware.
#pragma once

#include <string>

#include "base/result.h"

namespace partita::sim::tool {

// Where this build's own parts are.
struct Parts {
  std::string nvml;        // libnvidia-ml.so.1
  std::string cuda;        // libcuda.so.1
  std::string nvidia_smi;  // the look-alike
  std::string mps_control, mps_server;
  std::string placeholder;  // a program that says it is none
};

// Beside this executable: `../lib/libnvidia-ml.so.1`, `../lib/libcuda.so.1`, `nvidia-smi-sim`,
// the two MPS programs with the same ending, `partita-sim-placeholder`.
[[nodiscard]] base::Result<Parts> FindParts();

// Fills `<root>/usr/lib64`, `<root>/usr/bin` and `<root>/lib/firmware` for a driver of this
// version.
[[nodiscard]] base::Result<void> MakeDriverFiles(const std::string& root,
                                                 const std::string& version,
                                                 const Parts& parts);

// A complete small /dev: what programs expect everywhere, and mount points for the host's own.
// The driver's nodes come and go with the state.
[[nodiscard]] base::Result<void> MakeDeviceDirectory(const std::string& root);

}  // namespace partita::sim::tool
