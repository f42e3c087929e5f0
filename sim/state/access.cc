#include "sim/state/access.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sim/state/files.h"
#include "sim/state/mig.h"
#include "sim/state/store.h"

namespace partita::sim {
namespace {

constexpr char kFixedState[] = "/run/partita-sim/sim/state";

// A library in a build folder of this repository has the source folder sim/state above it.
bool IsRegularFile(const char* path) {
  FileIdentity about{};
  return IdentifyPath(path, &about) == 0 && S_ISREG(about.mode);
}

bool StateAbove(char* directory, char* path) {
  for (char* slash = strrchr(directory, '/'); slash != nullptr; slash = strrchr(directory, '/')) {
    *slash = '\0';
    const int length = snprintf(path, kMaxPath, "%s/sim/state", directory);
    if (length > 0 && length < static_cast<int>(kMaxPath) && IsRegularFile(path)) return true;
  }
  return false;
}

struct OwnName {
  uintptr_t address;
  char name[PATH_MAX];
};

// dladdr would need GLIBC_2.34 or libdl; the list of loaded objects is in libc since long.
int FindOwnName(dl_phdr_info* object, size_t, void* data) {
  auto* own = static_cast<OwnName*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    if (own->address < start || own->address - start >= segment.p_memsz) continue;
    // The program itself has no name in the list.
    const bool program = object->dlpi_name[0] == '\0';
    snprintf(own->name, sizeof own->name, "%s", program ? "/proc/self/exe" : object->dlpi_name);
    return 1;
  }
  return 0;
}

bool StateAboveOwn(const void* address, char* path) {
  OwnName own{};
  own.address = reinterpret_cast<uintptr_t>(address);
  if (dl_iterate_phdr(FindOwnName, &own) == 0) return false;
  char real[PATH_MAX];
  return realpath(own.name, real) != nullptr && StateAbove(real, path);
}

}  // namespace

bool LocateState(const void* own, char* path) {
  const char* wanted = getenv("PARTITA_SIM_STATE");
  if (wanted != nullptr && wanted[0] != '\0') {
    if (strlen(wanted) >= kMaxPath) return false;
    strcpy(path, wanted);
    return true;
  }
  if (StateAboveOwn(own, path)) return true;
  strcpy(path, kFixedState);
  return access(path, F_OK) == 0;
}

bool IsSwitchedOn(const char* variable, bool otherwise) {
  const char* value = getenv(variable);
  if (value == nullptr || value[0] == '\0') return otherwise;
  return strcmp(value, "0") != 0 && strcmp(value, "off") != 0;
}

int Grant(const char* path, uint32_t major, uint32_t minor, int mode) {
  FileIdentity identity{};
  int error = IdentifyPath(path, &identity);
  if (error != 0) return error;
  if (!S_ISCHR(identity.mode) || identity.node != makedev(major, minor)) return ENOENT;
  const int fd = open(path, mode | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  error = fd >= 0 ? 0 : errno;
  if (fd >= 0) close(fd);
  return error == ENXIO || error == ENODEV ? 0 : error;
}

bool MayOpenMigDevice(const Machine& machine,
                      uint32_t gpu,
                      uint32_t gpu_instance,
                      uint32_t compute_instance) {
  const uint32_t minors[] = {
      GpuInstanceMinor(machine.boards[gpu].minor, gpu_instance),
      ComputeInstanceMinor(machine.boards[gpu].minor, gpu_instance, compute_instance)};
  for (const uint32_t minor : minors) {
    char path[64];
    snprintf(path, sizeof path, "%s/nvidia-cap%u", kCapabilityNodes, minor);
    if (Grant(path, machine.major_caps, minor, O_RDONLY) != 0) return false;
  }
  return true;
}

}  // namespace partita::sim
