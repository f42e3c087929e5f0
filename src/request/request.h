// What a container asks for: which GPUs, by annotation, mount or variable, and what of the driver.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"
#include "config/toolkit_config.h"
#include "oci/spec.h"

namespace partita::request {

enum class Kind : std::uint8_t {
  kNotGpu,   // nothing is done to it
  kNone,     // the driver's files and control nodes, no GPU
  kAll,      // every GPU and MIG device
  kDevices,  // those of Request::devices
};
// The first of these that names something is all that counts, from the second on.
enum class Source : std::uint8_t { kNothing, kAnnotations, kMounts, kEnvironment };

struct Request {
  Kind kind = Kind::kNotGpu;
  Source source = Source::kNothing;
  std::vector<std::string> devices;        // of kDevices: as they were named, each once
  std::vector<std::string> imex_channels;  // numbers
  std::vector<std::string> gated_modes;    // "gds", "mofed", "gdrcopy", "nvswitch"
  bool mig_config = false, mig_monitor = false;
  // By NVIDIA_DRIVER_CAPABILITIES; only who mounts by capability (the prestart hook) cares, also
  // for what is wrong with it.
  std::set<cdi::Capability> capabilities;
  std::optional<base::Error> capability_error;
  std::vector<std::string> requirements;  // texts for ParseRequirement; none where they are off
  std::vector<std::string> warnings;

  // Devices, and every one with vendor and class.
  [[nodiscard]] bool OnlyQualified() const;
};

// kInvalid: a MIG variable or IMEX channel that cannot be obeyed; kDenied: a MIG variable that this
// container may not have.
[[nodiscard]] base::Result<Request> ReadRequest(const oci::Spec& spec,
                                                const config::ToolkitConfig& config,
                                                bool with_annotations);

}  // namespace partita::request
