// A CDI specification of this node, put together from what was read of it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/spec.h"
#include "cdi/version.h"
#include "model/inventory.h"
#include "service/cdi/device_files.h"
#include "service/cdi/driver_files.h"
#include "service/cdi/edits.h"

namespace partita::service::cdi {

enum class Mode : std::uint8_t { kNvml, kManagement, kImex, kGds, kMofed, kGdrcopy, kNvswitch };
// kUnsupported for those of the reference that are for other machines (csv, wsl).
[[nodiscard]] base::Result<Mode> ParseMode(std::string_view text);
[[nodiscard]] std::vector<std::string> ModeNames();
// What devices of a mode are called unless somebody says otherwise: "gpu", "gds".
[[nodiscard]] std::string_view ClassOf(Mode mode);

// What becomes of names by number where the driver's library counts without a device that lacks a
// node, so that they would be those of others.
enum class Numbers : std::uint8_t { kLeftOut, kAsCounted };

struct GenerateOptions {
  std::string vendor = "nvidia.com", klass = "gpu";
  std::vector<Naming> namings{Naming::kIndex, Naming::kUuid};
  bool all_device = true;
  // By index, UUID or PCI address; the first "all" or "none" decides.
  std::vector<std::string> device_ids{"all"};
  bool best_effort = false;  // leave out what cannot be described, instead of failing
  Numbers numbers = Numbers::kLeftOut;
  std::optional<partita::cdi::Version> version_max;
  Mode mode = Mode::kNvml;
  HookSet hooks;
};

struct Generated {
  partita::cdi::Spec spec;
  std::vector<base::Error> left_out;
  std::vector<std::string> warnings;
};

// Ready to be written: of the lowest version that serves, checked. Without any device kNotFound,
// with the reason of each GPU. Of `driver` the modes but nvml and management take the files alone.
[[nodiscard]] base::Result<Generated> Generate(const model::Inventory& inventory,
                                               const DriverFiles& driver,
                                               const DeviceFiles& devices,
                                               const Places& places,
                                               const GenerateOptions& options);

}  // namespace partita::service::cdi
