// What is on this machine, as one immutable value. Every publisher renders from it; none asks the
// driver by itself. Absent means "the driver did not say"; why is in `problems`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/ids.h"

namespace partita::model {

struct CudaVersion {
  int major = 0;
  int minor = 0;
  bool operator==(const CudaVersion&) const = default;
};

struct Driver {
  std::string version;       // "580.159.04"
  std::string nvml_version;  // "13.580.159.04"
  std::optional<CudaVersion> cuda;
  std::string library_path;  // where NVML was found
  bool operator==(const Driver&) const = default;
};

enum class Architecture : std::uint32_t {
  kKepler = 2,
  kMaxwell = 3,
  kPascal = 4,
  kVolta = 5,
  kTuring = 6,
  kAmpere = 7,
  kAda = 8,
  kHopper = 9,
  kBlackwell = 10,
  kRubin = 13,
  kUnknown = 0xFFFFFFFF,
};

// A range of slices: memory slices for GPU instances, compute slices for compute instances.
struct Placement {
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  auto operator<=>(const Placement&) const = default;
};

struct Memory {
  Bytes total, reserved, used, free;  // reserved + used + free = total
  bool used_counts_reserve = false;   // an older driver: what is reserved is in `used`
  bool operator==(const Memory&) const = default;
};

// One kind of GPU instance that this GPU can make, as NVML reports it.
struct GpuInstanceProfile {
  ProfileConstant constant;
  ProfileId id;
  std::string name;       // by the rule of profile_name.h: "1g.18gb+me"
  std::string nvml_name;  // as the driver names it, without "MIG "; empty when it does not
  std::uint32_t slice_count = 0;
  std::uint32_t instance_count = 0;  // at most so many on one GPU
  std::uint32_t multiprocessors = 0;
  std::uint32_t copy_engines = 0, decoders = 0, encoders = 0, jpegs = 0, ofas = 0;
  Mebibytes memory;
  bool p2p = false;
  std::vector<Placement> placements;
  // How many more the driver says could be made now; absent while MIG is off. On new parts it may
  // overstate.
  std::optional<std::uint32_t> remaining;
  bool operator==(const GpuInstanceProfile&) const = default;
};

// One kind of compute instance that a GPU instance offers, as NVML reports it once that instance
// exists.
struct ComputeInstanceProfile {
  std::uint32_t id = 0;
  std::uint32_t slice_count = 0;
  std::uint32_t multiprocessors = 0;
  std::uint32_t instance_count = 0;        // at most so many in one GPU instance
  std::vector<Placement> placements = {};  // compute slices; empty: not asked
  bool operator==(const ComputeInstanceProfile&) const = default;
};

// A compute instance; with its GPU instance it is a MIG device.
struct ComputeInstance {
  ComputeInstanceId id;
  std::uint32_t profile = 0;  // NVML compute-instance profile id
  Placement placement;        // compute slices relative to the GPU instance
  std::uint32_t slice_count = 0;
  std::uint32_t multiprocessors = 0;
  MigUuid uuid;
  std::string name;                   // "3g.20gb" or "1c.3g.20gb"
  std::optional<std::uint32_t> slot;  // MIG device index on its GPU
  std::optional<CapabilityMinor> access;
  bool operator==(const ComputeInstance&) const = default;
};

struct GpuInstance {
  GpuInstanceId id;
  ProfileId profile;
  std::string profile_name;
  Placement placement;
  std::optional<Memory> memory;  // as its MIG devices see it; absent while it has none
  std::optional<CapabilityMinor> access;
  std::vector<ComputeInstance> compute_instances;  // by id
  // With places. Read only of an instance that is divided: elsewhere nothing has to fit beside
  // something.
  std::vector<ComputeInstanceProfile> offered = {};
  bool operator==(const GpuInstance&) const = default;
};

struct Mig {
  bool enabled = false;             // now
  bool pending_enabled = false;     // after the next activation
  std::uint32_t memory_slices = 0;  // max(start+size) over all placements; NVML does not state it
  std::vector<GpuInstanceProfile> profiles;  // by constant
  std::vector<GpuInstance> instances;        // by id
  bool operator==(const Mig&) const = default;
};

enum class ProcessKind : std::uint8_t { kCompute, kGraphics, kMps };

// The container around a process, as far as files of the node tell. Empty: not known.
struct Container {
  std::string id;                                // the runtime's, 64 hex digits
  std::string name;                              // within its pod
  std::string pod_uid, pod_namespace, pod_name;  // all empty outside Kubernetes
  bool operator==(const Container&) const = default;
};

struct Process {
  Pid pid;
  ProcessKind kind = ProcessKind::kCompute;
  std::string name;  // as started; empty when it cannot be read
  std::optional<Bytes> memory;
  std::optional<GpuInstanceId> gpu_instance;
  std::optional<ComputeInstanceId> compute_instance;
  // Absent: none is around it, or it is gone.
  std::optional<Container> container = std::nullopt;
  bool operator==(const Process&) const = default;
};

// Somebody who is not among the processes: memory is in use that none of them explains.
struct HiddenHolder {
  std::optional<GpuInstanceId> gpu_instance;  // absent: it may be anywhere on the GPU
  Bytes memory;
  bool operator==(const HiddenHolder&) const = default;
};

// What changes from one look to the next.
struct Readings {
  std::optional<Percent> utilization, memory_utilization;
  std::optional<Celsius> temperature;
  std::optional<Milliwatts> power, power_limit;
  std::optional<Megahertz> graphics_clock, sm_clock, memory_clock, video_clock;
  std::optional<std::uint32_t> performance_state;  // P0..P15
  bool operator==(const Readings&) const = default;
};

enum class ComputeMode : std::uint32_t {
  kDefault = 0,
  kExclusiveThread = 1,
  kProhibited = 2,
  kExclusiveProcess = 3
};

// Memory errors that ECC found and could not correct.
struct UncorrectedErrors {
  std::uint64_t since_reset = 0;  // NVML's volatile counter: since the driver last took the GPU
  std::uint64_t in_all = 0;       // NVML's aggregate counter: the life of the board
  bool operator==(const UncorrectedErrors&) const = default;
};

// Rows of memory that were replaced by spare ones, since Ampere.
struct RowRemapping {
  std::uint32_t corrected = 0, uncorrected = 0;  // rows, by the errors that were the reason
  bool pending = false;                          // one waits for a reset
  bool failed = false;                           // there was no spare one
  bool operator==(const RowRemapping&) const = default;
};

// The NVLink fabric of a GPU whose links end in switches, perhaps of other machines as well.
struct Fabric {
  bool joined = false;  // its manager has let the GPU in, and without an error
  std::string cluster;  // a UUID, in lower case; empty: none was given
  std::uint32_t clique = 0;
  bool operator==(const Fabric&) const = default;
};

// Why a GPU that is there cannot be used, be trusted or be fully read.
enum class FaultKind : std::uint8_t {
  kLost,            // NVML: GPU is lost
  kResetRequired,   // NVML: GPU requires reset
  kHung,            // a driver call did not come back in time
  kMissing,         // on the PCI bus with the nvidia driver bound, but not in NVML
  kUnreadable,      // any other error on identity
  kRecoveryAction,  // the driver asks for an action (field 230)
  kMemoryErrors,    // ECC found errors that it could not correct
  kRemapPending,    // a row of memory waits for a reset to be remapped
  kRemapFailed,     // a row of memory could not be remapped
};
struct Fault {
  FaultKind kind;
  std::string text;  // for a person: what, and what to do
  bool operator==(const Fault&) const = default;
};

struct Gpu {
  // Identity. A GPU that cannot be asked keeps what PCI and the driver's /proc files say of it.
  std::optional<GpuIndex> index;
  std::optional<DeviceMinor> minor;
  std::optional<GpuUuid> uuid;
  std::string name;
  PciAddress pci;  // all zero, a host bridge's, when nobody can say where this GPU is
  std::uint32_t pci_device_id = 0;  // (device << 16) | vendor
  std::uint32_t pci_subsystem_id = 0;
  std::uint32_t pci_class = 0;  // 0x030200; 0: not a display controller, or nobody can say
  std::optional<std::string> serial, part_number, vbios;
  std::optional<std::uint32_t> module_id;
  std::optional<int> numa_node;
  std::optional<std::uint32_t> irq;
  std::vector<PciAddress> pci_path;  // bridges from the root port down

  Architecture architecture = Architecture::kUnknown;
  std::optional<std::uint32_t> brand;
  std::optional<int> compute_major, compute_minor;
  std::optional<std::uint32_t> cores;
  std::optional<Memory> memory;
  std::optional<Bytes> bar1;
  std::optional<std::uint32_t> pcie_generation, pcie_width;  // now
  std::optional<std::uint32_t> pcie_generation_max, pcie_width_max;

  std::optional<bool> persistence;
  std::optional<ComputeMode> compute_mode;
  std::optional<bool> ecc, ecc_pending;
  std::optional<UncorrectedErrors> uncorrected_errors;  // absent: no ECC, or it is off
  std::optional<RowRemapping> row_remapping;  // absent before Ampere, and while MIG hides it
  std::optional<std::uint32_t> addressing_mode, virtualization_mode;
  std::optional<std::uint32_t> recovery_action;  // field 230; 0: none. Absent before driver 570
  std::optional<Fabric> fabric;                  // absent: this GPU has none
  std::optional<Mig> mig;                        // absent: this GPU cannot do MIG…
  std::optional<base::Error> mig_error;  // …unless this says why `mig` is absent or has gaps

  Readings readings;
  std::vector<Process> processes;
  std::optional<base::Error> processes_error;  // why some may be missing
  std::vector<HiddenHolder> hidden_holders;    // by GPU instance, then that of the whole GPU
  std::vector<Fault> faults;
  bool operator==(const Gpu&) const = default;
};

// How two GPUs reach each other.
enum class PathLevel : std::uint32_t {
  kSameBoard = 0,
  kOneSwitch = 10,
  kSwitches = 20,
  kHostBridge = 30,
  kNumaNode = 40,
  kSystem = 50,
};
struct GpuLink {
  PciAddress a, b;  // a < b
  std::optional<PathLevel> path;
  std::uint32_t nvlinks = 0;  // direct ones
  bool operator==(const GpuLink&) const = default;
};
// NVLinks of one GPU that end in switches, where every peer is reachable.
struct SwitchLinks {
  PciAddress gpu;
  std::uint32_t active = 0;
  bool operator==(const SwitchLinks&) const = default;
};

struct VfioGpu {
  PciAddress pci;
  std::uint32_t pci_device_id = 0;
  std::optional<int> numa_node;
  std::optional<std::uint32_t> iommu_group;
  bool operator==(const VfioGpu&) const = default;
};

struct DeviceNode {
  std::string path;
  std::uint32_t major = 0, minor = 0;
  std::uint32_t mode = 0;  // permission bits
  bool operator==(const DeviceNode&) const = default;
};

// Something that could not be read. `gpu` is the index or PCI address it concerns; empty: the node.
struct Problem {
  std::string gpu;
  base::Error error;
  bool operator==(const Problem&) const = default;
};

struct Inventory {
  std::uint64_t generation = 0;             // of its reader: counts snapshots, from 1
  std::optional<Driver> driver;             // absent: no driver answers on this machine…
  std::optional<base::Error> driver_error;  // …and this is why
  std::vector<Gpu> gpus;                    // by NVML index, then those without one by PCI address
  std::vector<VfioGpu> vfio;
  std::vector<GpuLink> links;
  std::vector<SwitchLinks> switch_links;
  std::vector<DeviceNode> nodes;
  std::vector<Problem> problems;
  bool operator==(const Inventory&) const = default;
};

}  // namespace partita::model

// In inventory.cc alone: made in every file that includes this, they took the compiler an eighth of
// its time.
extern template class std::vector<partita::model::ComputeInstance>;
extern template class std::vector<partita::model::ComputeInstanceProfile>;
extern template class std::vector<partita::model::DeviceNode>;
extern template class std::vector<partita::model::Fault>;
extern template class std::vector<partita::model::Gpu>;
extern template class std::vector<partita::model::GpuInstance>;
extern template class std::vector<partita::model::GpuInstanceProfile>;
extern template class std::vector<partita::model::GpuLink>;
extern template class std::vector<partita::model::HiddenHolder>;
extern template class std::vector<partita::model::PciAddress>;
extern template class std::vector<partita::model::Placement>;
extern template class std::vector<partita::model::Process>;
extern template class std::vector<partita::model::SwitchLinks>;
extern template class std::vector<partita::model::VfioGpu>;
