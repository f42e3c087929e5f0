// A container's config.json, edited for the GPUs that it asks for.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/inject.h"
#include "cdi/node_devices.h"
#include "cdi/registry.h"
#include "config/toolkit_config.h"
#include "oci/spec.h"

namespace partita::hook {

// What the edit may ask of the machine; nothing is asked that is not needed.
struct NodeFacts {
  bool driver_loaded = true;  // without one only other vendors' devices are there
  // The node's devices, those of these ids among them ("all" and "none" too).
  std::function<base::Result<cdi::NodeDevices>(std::span<const std::string> ids)> devices;
  // What `partita cdi generate --mode` prints: "gds", "imex"…
  std::function<base::Result<cdi::Spec>(const std::string& mode)> mode_spec;
  std::function<cdi::Registry()> registry;
  std::function<base::Result<std::string>(const std::string& path)> read_file;
  cdi::LookAtHost look;
  std::string hook_program;      // partita-hook, as the host calls it
  std::string prestart_program;  // for legacy mode
  std::vector<std::string> prestart_env;
};

struct Edit {
  bool changed = false;  // false: no GPU container, and nothing was touched
  std::string summary;   // one line for the log: mode and devices
  std::vector<std::string> warnings;
};

// By the mode that the configuration says. On an error the specification is half edited, and must
// not be written.
[[nodiscard]] base::Result<Edit> EditSpec(oci::Spec& spec,
                                          const config::ToolkitConfig& config,
                                          const NodeFacts& facts);

// Whether this is a hook of hooks.prestart that does what the runtime does.
[[nodiscard]] bool IsPrestartTwin(const base::Value& hook);

}  // namespace partita::hook
