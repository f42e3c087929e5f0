// All that the static half of partita knows of a node: which devices there are, what a container
// needs to use them, and the driver's files. The agent keeps it in /run/partita/devices.json; where
// none runs, `partita cdi jit` prints it. apis/devices-v1.schema.json describes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "cdi/spec.h"

namespace partita::cdi {

inline constexpr const char* kDevicesApiVersion = "partita.dev/devices/v1";

// A GPU, or a MIG device of one.
struct DeviceRow {
  std::uint32_t index = 0, minor = 0;  // of the GPU, also for its MIG devices
  std::string uuid;                    // of the GPU
  std::string pci;                     // "0000:3b:00.0"
  std::string brand;                   // "tesla", "nvidiartx": as in NVIDIA_REQUIRE_*; or empty
  std::string compute;                 // "9.0"; empty: not known
  bool mig_enabled = false;
  struct Mig {
    std::uint32_t slot = 0, gi = 0, ci = 0;
    std::uint32_t gi_cap = 0, ci_cap = 0;  // N of /dev/nvidia-caps/nvidia-capN
    std::string uuid;
    bool operator==(const Mig&) const = default;
  };
  std::optional<Mig> mig;  // absent: the GPU itself
  // In NodeDevices::spec. Empty: not offered, because a node of it is missing.
  std::string cdi_name;
  bool operator==(const DeviceRow&) const = default;
};

enum class Capability : std::uint8_t {
  kCompute,
  kCompat32,
  kGraphics,
  kUtility,
  kVideo,
  kDisplay,
  kNgx,
};
// "compute": as in NVIDIA_DRIVER_CAPABILITIES.
[[nodiscard]] std::string_view ToString(Capability capability);
[[nodiscard]] std::optional<Capability> ParseCapability(std::string_view text);

enum class FileKind : std::uint8_t { kLibrary, kBinary, kFirmware, kSocket, kConfig, kXorg };

// A file of the driver. CDI mounts every one; the prestart hook those of the capabilities that were
// asked for, and firmware always.
struct DriverFile {
  std::string host_path;       // as the host calls it, with the driver's root
  std::string container_path;  // where CDI puts it
  FileKind kind = FileKind::kLibrary;
  std::vector<Capability> of;  // empty: of none
  std::string soname;          // of a library; empty: it has none, or it could not be read
  bool elf32 = false;
  bool operator==(const DriverFile&) const = default;
};

// The driver's library counts what it can open. Where a node is missing, the numbers behind it are
// those of others than usual.
struct Miscount {
  std::optional<std::uint32_t> gpu;  // whose MIG devices are meant; absent: the GPUs
  std::uint32_t from = 0;            // the first number that may be another's
  std::string why, mend;
  bool operator==(const Miscount&) const = default;
};

struct NodeDevices {
  std::uint64_t generation = 0;  // of the inventory that it was made from
  std::string driver_version;    // "580.159.04"
  std::string cuda;              // "13.0", what the driver supports; empty: not known
  std::string driver_root, dev_root;
  std::vector<DeviceRow> rows;  // by index, a GPU before its MIG devices, those by slot
  std::vector<Miscount> miscounts;
  std::vector<DriverFile> files;
  std::vector<DeviceNode> control_nodes;  // /dev/nvidiactl and its like
  std::uint32_t caps_major = 0;           // of /dev/nvidia-caps; 0: there is none
  Spec spec;                              // of kind runtime.nvidia.com/gpu
  bool operator==(const NodeDevices&) const = default;
};

[[nodiscard]] base::Value ToValue(const NodeDevices& node);
// kUnsupported: of another version; kInvalid, with the place: a member that is missing or wrong.
// Members that are not known are skipped: the next version of the agent may write more.
[[nodiscard]] base::Result<NodeDevices> NodeDevicesFrom(const base::Value& value);

}  // namespace partita::cdi
