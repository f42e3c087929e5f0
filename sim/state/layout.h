// The memory-mapped state of one simulated node: what every process on that node sees as hardware.
//
// Plain data only: the NVML library (libc alone), partita-sim and the look-alike nvidia-smi all map
// the same bytes. The file is
//
//   FileHeader | Machine (never changes) | Slot 0 | Slot 1
//
// Another machine, as after a board was exchanged, is another file in its place.
//
// A writer holds the OFD lock on the file, fills the slot that is not current and publishes it with
// one store of `generation` (current slot = generation & 1). A process killed at any instruction
// therefore leaves either the old state or the new one. Readers never lock: they read the current
// slot and repeat if `generation` moved meanwhile.
#pragma once

#include <stdint.h>

namespace partita::sim {

inline constexpr uint64_t kMagic = 0x314d495341545250;  // "PRTASIM1", little-endian
inline constexpr uint32_t kLayoutVersion = 3;

inline constexpr uint32_t kMaxGpus = 64;
inline constexpr uint32_t kMaxMigMinors = 32;   // GPU minors that mig-minors has (captures/h200)
inline constexpr uint32_t kMaxGiProfiles = 24;  // 17 constants on driver 580
inline constexpr uint32_t kMaxPlacements = 16;
inline constexpr uint32_t kMaxGpuInstances = 15;     // GI ids 0..14, as in mig-minors
inline constexpr uint32_t kMaxComputeInstances = 8;  // CI ids 0..7
inline constexpr uint32_t kMaxCiProfiles = 9;
inline constexpr uint32_t kMaxLinks = 36;
inline constexpr uint32_t kMaxHolders = 128;
inline constexpr uint32_t kMaxEvents = 128;
inline constexpr uint32_t kMaxCallFaults = 32;
inline constexpr uint32_t kMaxMemoryClocks = 8;
inline constexpr uint32_t kMaxBridges = 6;
inline constexpr uint32_t kMaxSwitches = 16;

// A number that the product's data may not hold. Unknown is answered with NOT_SUPPORTED.
struct Fact {
  uint32_t known;
  uint32_t value;
};
struct WideFact {
  uint64_t known;
  uint64_t value;
};

// ---- fixed
// ---------------------------------------------------------------------------------------

enum class MigActivation : uint32_t {
  kNone,       // no MIG on this board
  kReset,      // before Hopper: a change is pending until the GPU is reset
  kImmediate,  // Hopper and later: at once, and lost when the driver goes
};

// Below the enum, whose own kNone would shadow it (-Wshadow).
inline constexpr uint32_t kNone = 0xFFFFFFFF;  // "no instance", "any GPU", "not available"

// Which of the two published GPU-instance numberings the board uses (nvml-abi 7.3).
enum class GiNumbering : uint32_t { kRightHalfFirst, kLeftHalfFirst };

struct GiProfile {
  uint32_t constant;  // NVML_GPU_INSTANCE_PROFILE_*: the argument of the profile-info call
  uint32_t id;        // driver profile id: the argument of every other call
  uint32_t slice_count;
  uint32_t instance_count;
  uint32_t multiprocessors;
  uint32_t copy_engines;
  uint32_t decoders;
  uint32_t encoders;
  uint32_t jpegs;
  uint32_t ofas;
  uint64_t memory_mb;
  uint32_t p2p;
  uint32_t capabilities;  // v3 bits: 1 P2P, 2 graphics
  char attributes[16];    // "", "+me", "+me.all", "+gfx", "-me"
  uint32_t placement_size;
  uint32_t placement_count;
  uint32_t placement_starts[kMaxPlacements];
};

// A compute-instance profile as offered inside GPU instances of one slice count.
struct CiProfile {
  uint32_t gi_constant;  // the GPU-instance profile (constant) that offers it
  uint32_t id;           // NVML_COMPUTE_INSTANCE_PROFILE_*; id and constant are equal
  uint32_t slice_count;
  uint32_t instance_count;
  uint32_t multiprocessors;
  uint32_t placement_count;
  uint32_t placement_starts[kMaxComputeInstances];  // compute slices relative to the GPU instance
};

enum class LinkRemote : uint32_t { kGpu = 0, kNpu = 1, kSwitch = 2, kUnknown = 255 };
struct Link {
  LinkRemote remote;
  uint32_t remote_domain, remote_bus, remote_device;
};

struct PciFunction {
  uint32_t domain, bus, device;
};

// One GPU board as bought: the facts of data/products, and where the node put it.
struct Board {
  char product[48];  // file name in data/products, without .yaml
  char name[96];
  char uuid[48];  // "GPU-…"
  char serial[32];
  char part_number[80];
  char vbios[32];
  char inforom_image[16], inforom_oem[16], inforom_ecc[16], inforom_power[16];

  PciFunction pci;
  uint32_t pci_device_id;     // (device << 16) | vendor
  uint32_t pci_subsystem_id;  // 0 when unknown
  uint32_t pci_class;         // 0x030200 3D controller, 0x030000 VGA
  uint32_t bridge_count;      // root port first
  PciFunction bridges[kMaxBridges];
  int32_t numa_node;          // -1 when the platform does not say
  uint64_t cpu_affinity[16];  // CPU bit mask
  uint32_t minor;
  Fact irq, module_id;

  uint32_t architecture;  // nvmlDeviceArchitecture_t
  uint32_t brand;
  uint32_t compute_major, compute_minor;
  Fact cores, multiprocessors, memory_bus_width;
  uint64_t memory_total, memory_reserved;  // bytes
  WideFact bar1_total;                     // bytes
  Fact pcie_generation, pcie_width;
  Fact fans;

  Fact power_default_mw, power_min_mw, power_max_mw, power_idle_mw, power_busy_mw;
  Fact clock_max_graphics, clock_max_memory, clock_max_video;  // MHz
  Fact clock_idle_graphics, clock_idle_memory, clock_idle_video;
  Fact clock_app_graphics, clock_app_memory;
  uint32_t memory_clock_count;
  uint32_t memory_clocks[kMaxMemoryClocks];  // descending
  Fact clock_min_graphics, clock_step_graphics;
  Fact performance_state_idle;
  Fact temp_shutdown, temp_slowdown, temp_gpu_max, temp_memory_max;  // Celsius
  Fact temp_idle, temp_busy, temp_memory_idle;
  uint32_t margin_temperature;  // 1: Ada and later answer GetMarginTemperature

  Fact ecc;                  // known: the board has ECC; value: on by default
  Fact row_remap_max_banks;  // known: remaps rows; else retires pages
  Fact addressing_mode;
  Fact virtualization_mode;
  Fact gsp_firmware;  // known: GSP mode can be asked; value: enabled
  uint64_t event_types;

  Fact fabric_state;  // known: GetGpuFabricInfo answers; value: state
  uint32_t fabric_clique;
  uint8_t fabric_cluster_uuid[16];

  uint32_t link_count;
  uint32_t link_version;
  Fact link_mb_per_s;
  Link links[kMaxLinks];
  uint32_t common_ancestor[kMaxGpus];  // nvmlGpuTopologyLevel_t towards GPU i

  MigActivation mig_activation;
  GiNumbering gi_numbering;
  uint32_t max_mig_devices;
  uint32_t memory_slices, compute_slices;
  uint32_t gi_profile_count;
  GiProfile gi_profiles[kMaxGiProfiles];
  uint32_t ci_profile_count;
  CiProfile ci_profiles[kMaxGiProfiles * 4];
};

struct Machine {
  char node[64];
  char driver_version[32];  // "580.159.04"
  char driver_branch[32];   // "r582_49"; empty when unknown
  uint32_t nvml_major;      // 13: NVML version is "<major>.<driver version>"
  uint32_t cuda_version;    // 13000
  uint32_t open_kernel_module;
  uint32_t major_gpu;  // 195
  uint32_t major_uvm, major_nvswitch, major_nvlink, major_caps, major_imex;
  uint64_t seed;
  // Ampere: 1 = an idle GPU takes a MIG mode change at once, as when nothing holds the node's GPUs;
  // 0 = always pending until reset, as on a DGX with its services running.
  uint32_t idle_mode_change;
  uint32_t
      highest_gi_constant;     // profile constants above it are INVALID_ARGUMENT: 16 on driver 580
  uint32_t profiles_need_mig;  // 1: GPU instance profiles and places are told only while MIG is on
  uint32_t gpu_count;
  uint32_t switch_count;
  PciFunction switches[kMaxSwitches];
  Board boards[kMaxGpus];  // in PCI order: the index is the NVML index
};

// ---- changes ------------------------------------------------------------------------------------

struct ComputeInstance {
  uint32_t live;
  uint32_t profile;  // CiProfile::id
  uint32_t start, size;
};

struct GpuInstance {
  uint32_t live;
  uint32_t profile;  // GiProfile::constant
  uint32_t start;
  uint32_t reserved;
  uint64_t incarnation;                           // of the node, never reused
  ComputeInstance compute[kMaxComputeInstances];  // index = CI id
};

enum class PciDriver : uint32_t { kNvidia, kVfio, kUnbound };

struct Gpu {
  uint32_t mig_current, mig_pending;
  uint32_t compute_mode, persistence_mode;
  uint32_t ecc_current, ecc_pending;
  uint32_t power_limit_mw;  // 0: the default
  uint32_t timeslice;       // nvidia-smi compute-policy: 0 default, 1 short, 2 medium, 3 long
  PciDriver pci_driver;
  uint32_t lost;             // off the bus: every call answers 15
  uint32_t reset_required;   // calls that touch the engine answer 16 where the fault says so
  uint32_t recovery_action;  // field 230
  uint32_t resets;
  uint32_t reserved;
  uint64_t ecc_volatile[2], ecc_aggregate[2];  // corrected, uncorrected
  uint32_t rows_corrected, rows_uncorrected, rows_pending, rows_failed;
  Fact temperature, power_mw, utilization, memory_utilization;  // `set` overrides of readings
  uint64_t energy_before_mj;                                    // of holders that are gone
  GpuInstance instances[kMaxGpuInstances];                      // index = GI id
};

enum class HolderKind : uint32_t { kCompute, kGraphics, kMps };

// A process that uses a GPU or a slice. Alive while it (or its guardian) holds the record lock on
// byte `index` of sim/holders; the pid is a name for people, never the proof of life.
struct Holder {
  uint32_t live;
  HolderKind kind;
  uint32_t gpu;                                                // index
  uint32_t gpu_instance, compute_instance;                     // kNone: the whole GPU
  uint32_t utilization, memory_utilization, encoder, decoder;  // percent
  uint32_t guarded;  // 1: the lock is a guardian's, `pids` name the process
  uint64_t memory_bytes;
  uint64_t since_ns;           // simulated time
  uint64_t incarnation;        // of the GPU instance held, 0 for a whole GPU
  uint64_t lock_owner_pid_ns;  // inode of the PID namespace of the process that holds the lock…
  uint32_t lock_owner_pid;     // …and its pid there: how a process knows an entry as its own
  uint32_t pid_count;
  struct {
    uint64_t pid_ns;
    uint32_t pid;
    uint32_t reserved;
  } pids[4];  // guarded only: the process in each PID namespace that sees it
  char name[64];
};

struct Event {
  uint64_t sequence;  // from 1, without gaps
  uint64_t type;      // one nvmlEventType bit, or one of nvmlSystemEventType
  uint64_t data;      // XID
  uint64_t time_ns;   // simulated
  uint32_t gpu;
  uint32_t gpu_instance, compute_instance;  // kNone unless the fault belongs to an instance
  uint32_t system;  // 1: for sets of system events, else for those of devices
};

enum class CallFaultKind : uint32_t {
  kFail,
  kSlow,
  kHang,
  // These let the call succeed, with an effect of its own.
  kActivation,    // nvmlDeviceSetMigMode: the mode stays pending, and the activation is `code`
  kOtherPlace,    // what makes GPU or compute instances at a place: elsewhere than asked
  kOtherProfile,  // what makes GPU or compute instances: another profile than asked
};

// "This call, on this GPU, fails / is slow / hangs / does something else", until `remaining` runs
// out or it is cleared.
struct CallFault {
  uint32_t live;  // 2: caught all the calls it was to catch, and keeps those that hang
  CallFaultKind kind;
  char function[64];   // "nvmlDeviceGetName", or "*" for every call
  uint32_t gpu;        // kNone: any
  uint32_t code;       // kFail, kActivation: the nvmlReturn_t
  uint32_t delay_ms;   // kSlow
  uint32_t remaining;  // calls left; 0 = until cleared
  uint64_t id;
};

struct Clock {
  uint32_t frozen;
  uint32_t reserved;
  uint64_t base_ns;       // simulated time at…
  uint64_t monotonic_ns;  // …this CLOCK_MONOTONIC
};

struct Slot {
  uint64_t boot;          // counts boots of the node, from 1
  char boot_id[40];       // as /proc/sys/kernel/random/boot_id
  uint64_t driver_loads;  // counts loads of the driver; a client of an earlier load is cut off
  uint64_t booted_ns;     // simulated time of the boot
  uint64_t driver_loaded_ns;
  uint64_t next_incarnation;
  uint64_t next_event;  // sequence of the next event
  uint64_t next_fault_id;
  uint32_t driver_loaded;
  uint32_t version_mismatch;  // init answers LIB_RM_VERSION_MISMATCH
  Clock clock;
  CallFault call_faults[kMaxCallFaults];
  Event events[kMaxEvents];  // ring: sequence % kMaxEvents
  Holder holders[kMaxHolders];
  Gpu gpus[kMaxGpus];  // last, so that a commit copies only the GPUs there are
};

struct FileHeader {
  uint64_t magic;
  uint32_t layout_version;
  uint32_t file_size;
  uint64_t generation;  // atomic; the current slot is generation & 1; its low half is a futex word
  uint64_t rendered;    // generation that the /proc and /dev trees show; 0: unknown, render it all
  uint64_t reserved[4];
};

struct StateFile {
  FileHeader header;
  Machine machine;
  Slot slots[2];
};

}  // namespace partita::sim
