#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"

namespace partita::model {

using GpuUuid = base::Strong<struct GpuUuidTag, std::string>;  // "GPU-…"
using MigUuid = base::Strong<struct MigUuidTag, std::string>;  // "MIG-…"
using GpuIndex = base::Strong<struct GpuIndexTag, std::uint32_t>;
using DeviceMinor = base::Strong<struct DeviceMinorTag, std::uint32_t>;  // N of /dev/nvidiaN
using CapabilityMinor = base::Strong<struct CapabilityMinorTag, std::uint32_t>;  // nvidia-cap<N>
using GpuInstanceId = base::Strong<struct GpuInstanceIdTag, std::uint32_t>;
using ComputeInstanceId = base::Strong<struct ComputeInstanceIdTag, std::uint32_t>;
using ProfileConstant =
    base::Strong<struct ProfileConstantTag, std::uint32_t>;          // argument of the info call
using ProfileId = base::Strong<struct ProfileIdTag, std::uint32_t>;  // driver id: 19, 14, 9, …
using Pid = base::Strong<struct PidTag, std::int64_t>;

using Bytes = base::Strong<struct BytesTag, std::uint64_t>;
using Mebibytes = base::Strong<struct MebibytesTag, std::uint64_t>;
using Celsius = base::Strong<struct CelsiusTag, std::int32_t>;
using Milliwatts = base::Strong<struct MilliwattsTag, std::uint32_t>;
using Megahertz = base::Strong<struct MegahertzTag, std::uint32_t>;
using Percent = base::Strong<struct PercentTag, std::uint32_t>;

// A PCI function. Prints as sysfs does: lower case, at least four domain digits.
struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;
  std::uint8_t function = 0;

  // Accepts domains of 4 to 8 digits or none, any case, with or without ".function".
  static base::Result<PciAddress> Parse(std::string_view text);
  [[nodiscard]] std::string ToString() const;   // "0000:07:00.0"
  [[nodiscard]] std::string NvmlBusId() const;  // "00000000:07:00.0", hex in upper case
  auto operator<=>(const PciAddress&) const = default;
};

}  // namespace partita::model
