#include "rendered.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace partita::torture {
namespace {

constexpr std::string_view kCapabilityFiles = "proc/driver/nvidia/capabilities/gpu";
constexpr std::string_view kCapabilityNodes = "dev/nvidia-caps/nvidia-cap";

// The table of mig-minors on driver 580: config 1, monitor 2, then 9 minors per GPU instance and 15
// GPU instances per GPU.
constexpr std::uint32_t kFirstInstanceMinor = 3;
std::uint32_t GpuInstanceMinor(std::uint32_t gpu_minor, std::uint32_t id) {
  return kFirstInstanceMinor + 135 * gpu_minor + 9 * id;
}
constexpr std::uint32_t kLastInstanceMinor = 4322;

bool IsInstanceNode(std::string_view path) {
  if (!path.starts_with(kCapabilityNodes)) return false;
  const std::string number(path.substr(kCapabilityNodes.size()));
  char* end = nullptr;
  const unsigned long minor = std::strtoul(number.c_str(), &end, 10);
  return end != number.c_str() && *end == '\0' && minor >= kFirstInstanceMinor &&
         minor <= kLastInstanceMinor;
}

// Below …/capabilities/gpuN everything belongs to instances, but for the two directories that lead
// to them, which may stay when the last instance is gone.
bool IsInstancePath(std::string_view path) {
  if (IsInstanceNode(path)) return true;
  return path.starts_with(kCapabilityFiles);
}

bool IsWayToInstances(std::string_view path) {
  return path.starts_with(kCapabilityFiles) && path.find("/gi") == std::string_view::npos &&
         (path.ends_with("/mig") || path.find('/', kCapabilityFiles.size()) == std::string::npos);
}

void ExpectAccess(const sim::Machine& machine,
                  std::uint32_t minor,
                  const std::string& directory,
                  Tree* expected) {
  expected->emplace(directory, Entry{S_IFDIR, 0, ""});
  expected->emplace(
      directory + "/access",
      Entry{S_IFREG, 0,
            fmt::format("DeviceFileMinor: {}\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor)});
  expected->emplace(fmt::format("{}{}", kCapabilityNodes, minor),
                    Entry{S_IFCHR | 0444, makedev(machine.major_caps, minor), ""});
}

Tree ExpectInstances(const sim::Machine& machine, const sim::Slot& slot) {
  Tree expected;
  for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu) {
    for (std::uint32_t id = 0; id < sim::kMaxGpuInstances; ++id) {
      const sim::GpuInstance& instance = slot.gpus[gpu].instances[id];
      if (instance.live == 0) continue;
      const std::uint32_t gpu_minor = machine.boards[gpu].minor;
      const std::uint32_t minor = GpuInstanceMinor(gpu_minor, id);
      const std::string directory = fmt::format("{}{}/mig/gi{}", kCapabilityFiles, gpu_minor, id);
      ExpectAccess(machine, minor, directory, &expected);
      for (std::uint32_t ci = 0; ci < sim::kMaxComputeInstances; ++ci) {
        if (instance.compute[ci].live == 0) continue;
        ExpectAccess(machine, minor + 1 + ci, fmt::format("{}/ci{}", directory, ci), &expected);
      }
    }
  }
  return expected;
}

// The kernel, not the state, decides on the permissions of a /proc file: only its type counts.
bool Same(const Entry& found, const Entry& wanted) {
  if ((found.mode & S_IFMT) != (wanted.mode & S_IFMT)) return false;
  if (S_ISCHR(wanted.mode) && (found.mode != wanted.mode || found.device != wanted.device)) {
    return false;
  }
  return found.content == wanted.content;
}

}  // namespace

void CheckRendered(const Tree& tree,
                   const Tree& reference,
                   const sim::Machine& machine,
                   const sim::Slot& slot,
                   Findings* findings) {
  Tree expected = ExpectInstances(machine, slot);
  for (const auto& [path, entry] : reference) {
    if (!IsInstancePath(path)) expected.emplace(path, entry);
  }
  for (const auto& [path, entry] : tree) {
    const auto wanted = expected.find(path);
    if (wanted == expected.end()) {
      if (!(S_ISDIR(entry.mode) && IsWayToInstances(path))) {
        findings->Add("{}: must not be there", path);
      }
    } else if (!Same(entry, wanted->second)) {
      findings->Add(
          "{}: mode {:o} device {}:{} content \"{}\", expected mode {:o} device {}:{} "
          "content \"{}\"",
          path, entry.mode, major(entry.device), minor(entry.device), entry.content.substr(0, 120),
          wanted->second.mode, major(wanted->second.device), minor(wanted->second.device),
          wanted->second.content.substr(0, 120));
    }
  }
  for (const auto& [path, entry] : expected) {
    if (!tree.contains(path)) findings->Add("{}: is missing", path);
  }
}

}  // namespace partita::torture
