// Small nodes for tests: the first fixture of the tests of specifications, and what is made of it.
#pragma once

#include <cstdint>
#include <string>

#include "model/inventory.h"
#include "service/cdi/device_files.h"
#include "service/cdi/driver_files.h"
#include "service/cdi/edits.h"

namespace partita::service::cdi::testing {

inline constexpr const char* kGpuUuid = "GPU-11111111-2222-3333-4444-555555555555";

void Put(DeviceFiles& devices,
         const std::string& path,
         std::uint32_t major,
         std::uint32_t minor,
         std::uint32_t mode = 0666,
         std::uint32_t gid = 0);

[[nodiscard]] model::Gpu SampleGpu();         // index 0, minor 0, 0000:3b:00.0
[[nodiscard]] model::Inventory SampleNode();  // with this one
// nvidia0, nvidiactl, nvidia-uvm and its tools.
[[nodiscard]] DeviceFiles SampleNodes();
[[nodiscard]] DriverFiles SampleFiles();  // of MakeSmallDriver
// As the reference's: /usr/bin/nvidia-cdi-hook.
[[nodiscard]] HookSet SampleHooks();

// Adds a MIG device to the GPU, in an instance of its own.
void AddSlice(model::Gpu& gpu,
              std::uint32_t slot,
              std::uint32_t gi,
              std::uint32_t gi_cap,
              std::uint32_t ci_cap,
              const std::string& profile = "1g.18gb");
// Slots 0 and 3 in use, with their nodes.
void Slice(model::Inventory& node, DeviceFiles& devices);

}  // namespace partita::service::cdi::testing
