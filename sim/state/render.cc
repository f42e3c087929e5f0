#include "sim/state/render.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>

#include "sim/state/files.h"
#include "sim/state/mig.h"
#include "sim/state/render_text.h"
#include "sim/state/store.h"

namespace partita::sim {
namespace {

constexpr uint32_t kDirectoryMode = 0755;
constexpr uint32_t kAccessMode = 0444;  // of a live instance's capability

// One rendering: keeps the first error and goes on.
class Renderer {
 public:
  Renderer(const char* root, const Machine& machine) : root_(root), machine_(machine) {}

  int error() const { return error_; }
  const Machine& machine() const { return machine_; }

  void Note(int error) {
    if (error_ == 0) error_ = error;
  }

  // "<root>/<format…>", valid until the next call.
  const char* Path(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    const int prefix = snprintf(path_, sizeof path_, "%.800s/", root_);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path_ + prefix, sizeof path_ - static_cast<size_t>(prefix), format, arguments);
    va_end(arguments);
    return path_;
  }

  void Directory(const char* path) { Note(MakeDirectoryPath(path, kDirectoryMode)); }
  void File(const char* path, const Text& text, uint32_t mode = 0444) {
    Note(text.overflow ? EOVERFLOW : PutFile(path, text.bytes, text.size, mode));
  }
  void Node(const char* path, uint32_t major, uint32_t minor, uint32_t mode) {
    Note(PutCharacterDevice(path, major, minor, mode));
  }

 private:
  const char* root_;
  const Machine& machine_;
  int error_ = 0;
  char path_[kMaxPath];
};

struct SmallText : Text {
  SmallText() : Text{buffer, sizeof buffer} {}
  char buffer[4096];
};

void PutCapability(Renderer& out, const char* path, uint32_t minor, uint32_t mode) {
  SmallText text;
  WriteCapability(minor, mode, &text);
  out.File(path, text, mode);
}

void RemoveTree(Renderer& out, const char* path) {
  DIR* directory = opendir(path);
  if (directory == nullptr) {
    if (errno != ENOENT) out.Note(RemoveFile(path));
    return;
  }
  while (const dirent* entry = readdir(directory)) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char inner[kMaxPath];
    snprintf(inner, sizeof inner, "%.700s/%.255s", path, entry->d_name);
    FileIdentity identity{};
    if (IdentifyPath(inner, &identity) == 0 && S_ISDIR(identity.mode)) {
      RemoveTree(out, inner);
    } else {
      out.Note(RemoveFile(inner));
    }
  }
  closedir(directory);
  out.Note(RemoveDirectory(path));
}

// ---- MIG instances
// -----------------------------------------------------------------------------------

// The node comes before the capability file and goes after it: whoever finds the file can open it.
void ShowCapability(Renderer& out, uint32_t minor, const char* directory) {
  out.Node(out.Path("dev/nvidia-caps/nvidia-cap%u", minor), out.machine().major_caps, minor,
           kAccessMode);
  out.Directory(out.Path("%s", directory));
  PutCapability(out, out.Path("%s/access", directory), minor, kAccessMode);
}

void HideCapability(Renderer& out, uint32_t minor, const char* directory) {
  out.Note(RemoveFile(out.Path("%s/access", directory)));
  out.Note(RemoveFile(out.Path("%s/access.new", directory)));
  out.Note(RemoveDirectory(out.Path("%s", directory)));
  out.Note(RemoveFile(out.Path("dev/nvidia-caps/nvidia-cap%u", minor)));
}

void NameInstance(uint32_t minor, uint32_t gi, char* directory) {
  snprintf(directory, 128, "proc/driver/nvidia/capabilities/gpu%u/mig/gi%u", minor, gi);
}

void ShowInstance(
    Renderer& out, uint32_t minor, uint32_t gi, const GpuInstance& then, const GpuInstance& now) {
  char directory[128];
  NameInstance(minor, gi, directory);
  if (now.live != 0) ShowCapability(out, GpuInstanceMinor(minor, gi), directory);
  for (uint32_t ci = 0; ci < kMaxComputeInstances; ++ci) {
    char inner[160];
    snprintf(inner, sizeof inner, "%.127s/ci%u", directory, ci);
    const uint32_t cap = ComputeInstanceMinor(minor, gi, ci);
    if (now.live != 0 && now.compute[ci].live != 0) {
      ShowCapability(out, cap, inner);
    } else if (then.compute[ci].live != 0) {
      HideCapability(out, cap, inner);
    }
  }
  if (now.live == 0 && then.live != 0) HideCapability(out, GpuInstanceMinor(minor, gi), directory);
}

bool SameInstances(const GpuInstance& then, const GpuInstance& now) {
  if (then.live != now.live) return false;
  for (uint32_t ci = 0; ci < kMaxComputeInstances; ++ci) {
    if (then.compute[ci].live != now.compute[ci].live) return false;
  }
  return true;
}

// ---- everything
// ----------------------------------------------------------------------------------------

bool IsShown(const Slot& slot, uint32_t gpu) {
  return slot.driver_loaded != 0 && slot.gpus[gpu].pci_driver == PciDriver::kNvidia;
}

void RenderProcDriver(Renderer& out) {
  SmallText text;
  out.Directory(out.Path("proc/driver/nvidia/gpus"));
  out.Directory(out.Path("proc/driver/nvidia/capabilities/mig"));
  out.Directory(out.Path("proc/driver/nvidia/patches"));
  out.Directory(out.Path("proc/driver/nvidia/warnings"));
  WriteVersion(out.machine(), &text);
  out.File(out.Path("proc/driver/nvidia/version"), text);
  text.size = 0;
  WriteParams(&text);
  out.File(out.Path("proc/driver/nvidia/params"), text);
  struct {
    const char* name;
    const char* contents;
    uint32_t mode;
  } const small[] = {
      {"registry", "Binary: \"\"\n", 0644},
      {"suspend", "suspend hibernate resume\n", 0644},
      {"suspend_depth", "default modeset uvm\n", 0644},
      {"patches/README", "The NVIDIA kernel module of this node is simulated and unpatched.\n",
       0444},
      {"warnings/README", "The NVIDIA kernel module of this node is simulated.\n", 0444},
  };
  for (const auto& file : small) {
    text.size = 0;
    text.Add("%s", file.contents);
    out.File(out.Path("proc/driver/nvidia/%s", file.name), text, file.mode);
  }
  PutCapability(out, out.Path("proc/driver/nvidia/capabilities/mig/config"), kMigConfigMinor, 0400);
  PutCapability(out, out.Path("proc/driver/nvidia/capabilities/mig/monitor"), kMigMonitorMinor,
                0444);
  PutCapability(out, out.Path("proc/driver/nvidia/capabilities/fabric-imex-mgmt"), kFabricImexMinor,
                0400);
}

void RenderCapsAndSwitches(Renderer& out) {
  SmallText text;
  out.Directory(out.Path("proc/driver/nvidia-caps"));
  text.Add("fabric-mgmt 0\n");
  out.File(out.Path("proc/driver/nvidia-caps/nvlink-minors"), text);
  text.size = 0;
  text.Add("fabric-imex-mgmt %u\n", kFabricImexMinor);
  out.File(out.Path("proc/driver/nvidia-caps/sys-minors"), text);
  out.Directory(out.Path("proc/driver/nvidia-nvlink/capabilities"));
  PutCapability(out, out.Path("proc/driver/nvidia-nvlink/capabilities/fabric-mgmt"), 0, 0400);
  out.Directory(out.Path("proc/driver/nvidia-nvswitch/devices"));
  for (const char* module : {"nvidia-nvlink", "nvidia-nvswitch"}) {
    text.size = 0;
    text.Add("DeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\nDeviceFileModify: 1\n");
    out.File(out.Path("proc/driver/%s/permissions", module), text);
  }
  void* room =
      mmap(nullptr, kLongestText, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) {
    out.Note(errno);
    return;
  }
  Text minors{static_cast<char*>(room), kLongestText};
  WriteMigMinors(&minors);
  out.File(out.Path("proc/driver/nvidia-caps/mig-minors"), minors);
  munmap(room, kLongestText);
}

void RenderGpu(Renderer& out, const Board& board, bool shown) {
  char directory[96];
  snprintf(directory, sizeof directory, "proc/driver/nvidia/gpus/%04x:%02x:%02x.0",
           board.pci.domain, board.pci.bus, board.pci.device);
  if (!shown) {
    RemoveTree(out, out.Path("%s", directory));
    out.Note(RemoveFile(out.Path("dev/nvidia%u", board.minor)));
    return;
  }
  out.Directory(out.Path("%s", directory));
  SmallText text;
  WriteGpuInformation(out.machine(), board, &text);
  out.File(out.Path("%s/information", directory), text);
  text.size = 0;
  WriteGpuPower(&text);
  out.File(out.Path("%s/power", directory), text);
  text.size = 0;
  text.Add("Binary: \"\"\n");
  out.File(out.Path("%s/registry", directory), text, 0644);
  out.Node(out.Path("dev/nvidia%u", board.minor), out.machine().major_gpu, board.minor, 0666);
}

void RenderSharedNodes(Renderer& out) {
  const Machine& machine = out.machine();
  out.Node(out.Path("dev/nvidiactl"), machine.major_gpu, 255, 0666);
  out.Node(out.Path("dev/nvidia-uvm"), machine.major_uvm, 0, 0666);
  out.Node(out.Path("dev/nvidia-uvm-tools"), machine.major_uvm, 1, 0666);
  out.Directory(out.Path("dev/nvidia-caps"));
  out.Node(out.Path("dev/nvidia-caps/nvidia-cap%u", kMigConfigMinor), machine.major_caps,
           kMigConfigMinor, 0400);
  out.Node(out.Path("dev/nvidia-caps/nvidia-cap%u", kMigMonitorMinor), machine.major_caps,
           kMigMonitorMinor, 0444);
  if (machine.switch_count == 0) return;
  out.Node(out.Path("dev/nvidia-nvswitchctl"), machine.major_nvswitch, 255, 0666);
  out.Node(out.Path("dev/nvidia-nvlink"), machine.major_nvlink, 0, 0666);
  for (uint32_t i = 0; i < machine.switch_count && i < kMaxSwitches; ++i) {
    out.Node(out.Path("dev/nvidia-nvswitch%u", i), machine.major_nvswitch, i, 0666);
  }
}

// Removes every nvidia node, and the driver's directories: what a driver unload leaves behind.
void RemoveDriver(Renderer& out) {
  for (const char* directory : {"nvidia", "nvidia-caps", "nvidia-nvlink", "nvidia-nvswitch"}) {
    RemoveTree(out, out.Path("proc/driver/%s", directory));
  }
  const char* dev = out.Path("dev");
  DIR* directory = opendir(dev);
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (strncmp(entry->d_name, "nvidia", 6) == 0)
      RemoveTree(out, out.Path("dev/%s", entry->d_name));
  }
  closedir(directory);
}

bool IsLiveCapability(const Machine& machine, const Slot& slot, uint32_t minor) {
  if (minor == kMigConfigMinor || minor == kMigMonitorMinor) return true;
  for (uint32_t gpu = 0; gpu < machine.gpu_count && gpu < kMaxGpus; ++gpu) {
    const uint32_t first = GpuInstanceMinor(machine.boards[gpu].minor, 0);
    if (minor < first || minor >= first + 9 * kMaxGpuInstances) continue;
    const GpuInstance& instance = slot.gpus[gpu].instances[(minor - first) / 9];
    const uint32_t within = (minor - first) % 9;
    return instance.live != 0 && (within == 0 || instance.compute[within - 1].live != 0);
  }
  return false;
}

void RemoveStaleNodes(Renderer& out, const Slot& slot) {
  DIR* directory = opendir(out.Path("dev/nvidia-caps"));
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (strncmp(entry->d_name, "nvidia-cap", 10) != 0) continue;
    const auto minor = static_cast<uint32_t>(strtoul(entry->d_name + 10, nullptr, 10));
    if (!IsLiveCapability(out.machine(), slot, minor)) {
      out.Note(RemoveFile(out.Path("dev/nvidia-caps/%s", entry->d_name)));
    }
  }
  closedir(directory);
}

// Nodes and directories of instances that are gone, whoever left them.
void RemoveStaleInstances(Renderer& out, const Slot& slot) {
  RemoveStaleNodes(out, slot);
  for (uint32_t gpu = 0; gpu < out.machine().gpu_count && gpu < kMaxGpus; ++gpu) {
    const uint32_t minor = out.machine().boards[gpu].minor;
    if (access(out.Path("proc/driver/nvidia/capabilities/gpu%u", minor), F_OK) != 0) continue;
    for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
      char name[128];
      NameInstance(minor, gi, name);
      const GpuInstance& instance = slot.gpus[gpu].instances[gi];
      if (instance.live == 0) RemoveTree(out, out.Path("%s", name));
      for (uint32_t ci = 0; instance.live != 0 && ci < kMaxComputeInstances; ++ci) {
        if (instance.compute[ci].live == 0) RemoveTree(out, out.Path("%s/ci%u", name, ci));
      }
    }
  }
}

void RenderInstances(Renderer& out, const Slot& slot) {
  const GpuInstance none{};
  for (uint32_t gpu = 0; gpu < out.machine().gpu_count && gpu < kMaxGpus; ++gpu) {
    for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
      ShowInstance(out, out.machine().boards[gpu].minor, gi, none, slot.gpus[gpu].instances[gi]);
    }
  }
}

void RenderAll(Renderer& out, const Slot& slot) {
  const Machine& machine = out.machine();
  const bool loaded = slot.driver_loaded != 0;
  out.Directory(out.Path("proc/driver"));
  SmallText text;
  WriteDevices(machine, loaded, &text);
  out.Note(PutFileInPlace(out.Path("proc/devices"), text.bytes, text.size, 0444));
  text.size = 0;
  WriteModules(loaded, &text);
  out.Note(PutFileInPlace(out.Path("proc/modules"), text.bytes, text.size, 0444));
  text.size = 0;
  text.Add("%s\n", slot.boot_id);
  out.Directory(out.Path("proc/sys/kernel/random"));
  out.Note(PutFileInPlace(out.Path("proc/sys/kernel/random/boot_id"), text.bytes, text.size, 0444));
  if (!loaded) {
    RemoveDriver(out);
    return;
  }
  RenderProcDriver(out);
  RenderCapsAndSwitches(out);
  RenderSharedNodes(out);
  for (uint32_t gpu = 0; gpu < machine.gpu_count && gpu < kMaxGpus; ++gpu) {
    RenderGpu(out, machine.boards[gpu], IsShown(slot, gpu));
  }
  RemoveStaleInstances(out, slot);
  RenderInstances(out, slot);
}

bool HasTrees(Renderer& out) {
  return access(out.Path("proc"), F_OK) == 0 && access(out.Path("dev"), F_OK) == 0;
}

}  // namespace

int RenderDriverFiles(const char* root, const Machine& machine, const Slot& slot) {
  Renderer out(root, machine);
  out.Directory(out.Path("dev"));
  RenderAll(out, slot);
  return out.error();
}

int RenderCommitted(const char* root, const Machine& machine, const Slot& slot) {
  Renderer out(root, machine);
  if (!HasTrees(out)) return ENOENT;
  RenderAll(out, slot);
  return out.error();
}

int RenderDifference(const char* root, const Machine& machine, const Slot& then, const Slot& now) {
  bool driver_changed =
      then.driver_loads != now.driver_loads || then.driver_loaded != now.driver_loaded;
  for (uint32_t gpu = 0; gpu < machine.gpu_count && gpu < kMaxGpus; ++gpu) {
    driver_changed = driver_changed || then.gpus[gpu].pci_driver != now.gpus[gpu].pci_driver;
  }
  if (driver_changed) return RenderCommitted(root, machine, now);
  Renderer out(root, machine);
  for (uint32_t gpu = 0; gpu < machine.gpu_count && gpu < kMaxGpus; ++gpu) {
    for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
      const GpuInstance& before = then.gpus[gpu].instances[gi];
      const GpuInstance& after = now.gpus[gpu].instances[gi];
      if (!SameInstances(before, after)) {
        if (!HasTrees(out)) return ENOENT;
        ShowInstance(out, machine.boards[gpu].minor, gi, before, after);
      }
    }
  }
  return out.error();
}

}  // namespace partita::sim
