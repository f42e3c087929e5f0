// What a host has of everything that a container with a GPU needs, read once and not judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hw/procfs/driver_files.h"
#include "hw/sysfs/pci.h"
#include "model/inventory.h"
#include "service/toolkit/configure.h"

namespace partita::service::toolkit {

// Of CDI devices that are GPUs.
inline constexpr std::string_view kGpuKind = "nvidia.com/gpu";

struct HostOptions {
  std::string host_root = "/";    // whose /proc, /sys, /dev, /etc and /usr are looked at
  std::string driver_root = "/";  // where the driver's library is
  std::string library{};          // exactly this one
  std::vector<std::string> spec_directories{"/etc/cdi", "/var/run/cdi"};
  std::vector<std::string> hook_directories{"/usr/share/containers/oci/hooks.d",
                                            "/etc/containers/oci/hooks.d"};
  std::string search_path{};  // where programs are; engines are asked for their version
};

// A CDI file that could be read.
struct SpecFacts {
  std::string path, kind, version;
  std::vector<std::string> devices;
  // What it names and the host has not, or has otherwise: "/dev/nvidia0 (511:0, not 195:0)".
  std::vector<std::string> missing;
  bool open = false;  // somebody else than root may change it
};

// A program that runs as root with what a container chose.
struct ProgramFacts {
  std::string path;
  bool there = false, executable = false;
  bool open = false;   // somebody else than root may replace or change it
  std::string spec{};  // the CDI file for nvidia.com/gpu that names it
};

// A node of the driver's that should be there and is not.
struct MissingCapability {
  std::string path;
  std::uint32_t minor = 0, mode = 0;
};

// A program that an engine starts for containers of a runtime.
struct RuntimeFacts {
  std::string name, path;  // path empty: no file says what it is
  bool is_default = false;
  bool there = false, executable = false;
};

struct EngineFacts {
  Engine engine = Engine::kDocker;
  std::string program;                             // where it was found
  std::string version;                             // "4.3.1"; empty: it did not say
  std::optional<std::string> config{}, drop_in{};  // the texts of its files
  std::vector<RuntimeFacts> runtimes{};            // ours and the default, where they are named
};

struct HostFacts {
  std::vector<hw::sysfs::PciGpu> bus;
  std::set<std::string> modules;  // loaded ones
  std::optional<hw::procfs::KernelModule> driver;
  std::vector<hw::procfs::GpuInformation> gpus;
  std::vector<model::DeviceNode> nodes;
  hw::procfs::Majors majors;
  std::vector<MissingCapability> missing_capabilities;
  std::string library, library_error;  // path; or why it does not load
  bool library_outside = false;        // of the driver root that was named
  std::string answer_error;            // why the driver does not answer; asked on this machine only
  bool versions_differ = false;        // that is why
  std::string library_version;         // empty: the file's name has none
  std::vector<SpecFacts> specs;
  std::vector<std::string> spec_problems;
  std::vector<std::string> open_spec_directories;  // others than root may write
  std::vector<std::string> misnamed_specs;         // *.yml, which nobody reads
  std::vector<ProgramFacts> hooks;                 // that specs and hook files name
  std::vector<std::string> hook_files;             // of hooks.d, that inject NVIDIA's devices
  std::vector<EngineFacts> engines;                // those that are installed
  bool has_runtime = false;                        // nvidia-container-runtime
  bool has_docker_hook = false;                    // nvidia-container-runtime-hook
  std::string runtime_mode;                        // of config.toml; empty: it says nothing
  bool has_systemd = false;                        // as the first process
  bool unified_cgroups = false;                    // version 2 alone
};

// Nothing that is absent or cannot be read is an error: it is absent from the facts.
[[nodiscard]] HostFacts ReadHost(const HostOptions& options);

// "4.3.1" of "podman version 4.3.1", "1.7.24" of "containerd containerd.io v1.7.24 88bf19b"; empty
// when there is none.
[[nodiscard]] std::string VersionIn(const std::string& text);

}  // namespace partita::service::toolkit
