// Devices of the machine's CDI files, by every name that a device has.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"
#include "cdi/registry.h"

namespace partita::hook {

// What is asked of the files.
struct FileDevice {
  std::string kind;  // "nvidia.com/gpu"
  std::string id;    // as it was written: a name of the files, or how request/device_id.h has it
  bool of_gpus = false;  // of the kind that GPUs have: other kinds know only their own names

  [[nodiscard]] std::string ToString() const;
  // The vendor is NVIDIA.
  [[nodiscard]] bool IsNvidias() const;
};

// "nvidia.com/gpu=0" in two; what has no kind is of the default one. An id may have '/', which no
// CDI name has.
[[nodiscard]] FileDevice ReadFileDevice(const std::string& text, const std::string& default_kind);

using AskNode = std::function<base::Result<cdi::NodeDevices>(std::span<const std::string> ids)>;

// In the order of what is asked, each device once. The node is asked, once, only where a GPU is not
// in the files by the name that was written; a device that is found so must have the nodes there
// that it has now. "none" is `no_device` with each specification of its kind. kNotFound with every
// name that leads to no device, and in the hint why.
[[nodiscard]] base::Result<std::vector<cdi::Registry::Found>> FindInFiles(
    const cdi::Registry& registry,
    std::span<const FileDevice> wanted,
    const cdi::Device& no_device,
    const AskNode& ask);

}  // namespace partita::hook
