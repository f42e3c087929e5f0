// The config.json of a container of ours.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/inject.h"
#include "cdi/node_devices.h"
#include "service/cdi/edits.h"
#include "service/run/grant.h"

namespace partita::service::run {

struct ContainerOrder {
  std::string root;  // its root, as runc finds it
  std::vector<std::string> command;
  bool terminal = false;
  std::string term;                     // TERM; empty, or not UTF-8: not set
  std::vector<std::string> host_files;  // shown at the same path, read-only
};

// Whether config.json can hold these words as they are: it is JSON, which is UTF-8. kInvalid.
[[nodiscard]] base::Result<void> CheckWords(const std::vector<std::string>& command);

// Few rights, this machine's network, and the granted devices as CDI has them; their
// /proc/driver/nvidia is restricted by the hook. Pure but for `look`.
[[nodiscard]] base::Result<std::string> MakeConfig(const ContainerOrder& order,
                                                   const Grant& grant,
                                                   const partita::cdi::NodeDevices& node,
                                                   const cdi::HookSet& hooks,
                                                   const partita::cdi::LookAtHost& look);

}  // namespace partita::service::run
