// Versions, and the few facts that belong to no GPU.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/nvml/api.h"
#include "sim/nvml/nvml_calls.h"

namespace partita::sim::nvml {
namespace {

// Reads the start of a file in /proc; the length, or -1 when there is no such process.
ssize_t ReadProc(unsigned int pid, const char* file, char* out, size_t size) {
  char path[40];
  snprintf(path, sizeof path, "/proc/%u/%s", pid, file);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t got = -1;
  do {
    got = read(fd, out, size);
  } while (got < 0 && errno == EINTR);
  close(fd);
  return got;
}

// The process as it was started, links not resolved; a kernel thread has only its short name.
bool ProcessName(unsigned int pid, char* out, size_t size) {
  ssize_t length = ReadProc(pid, "cmdline", out, size - 1);
  if (length == 0) length = ReadProc(pid, "comm", out, size - 1);
  if (length < 0) return false;
  out[length] = '\0';
  for (char* c = out; *c != '\0'; ++c) {
    if (*c == '\n') *c = '\0';
  }
  return true;
}

nvmlReturn_t CudaVersion(const char* function, int* version) {
  return SystemCall(
      function, [&] { return WriteValue(version, static_cast<int>(TheMachine().cuda_version)); });
}

// No unit (S-class chassis) and no excluded GPU exists on any simulated node.
nvmlReturn_t None(const char* function, unsigned int* count) {
  return SystemCall(function, [&] { return WriteValue(count, 0U); });
}

}  // namespace

NVML_API(nvmlSystemGetDriverVersion, char* version, unsigned int length) {
  return SystemCall(__func__,
                    [&] { return WriteText(version, length, TheMachine().driver_version); });
}

// One of the two calls that a driver library answers before init.
NVML_API(nvmlSystemGetNVMLVersion, char* version, unsigned int length) {
  Frame frame(__func__);
  const nvmlReturn_t entered = frame.Enter();
  if (entered != NVML_SUCCESS && entered != NVML_ERROR_UNINITIALIZED) return frame.Leave(entered);
  const Machine* machine = MachineWithoutInit();
  if (machine == nullptr) return frame.Leave(NVML_ERROR_DRIVER_NOT_LOADED);
  char text[NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE];
  snprintf(text, sizeof text, "%u.%s", machine->nvml_major, machine->driver_version);
  return frame.Leave(WriteText(version, length, text));
}

NVML_API(nvmlSystemGetCudaDriverVersion, int* version) { return CudaVersion(__func__, version); }
NVML_API(nvmlSystemGetCudaDriverVersion_v2, int* version) { return CudaVersion(__func__, version); }

// The only text that is cut to the buffer instead of refused (driver 580).
NVML_API(nvmlSystemGetProcessName, unsigned int pid, char* name, unsigned int length) {
  return SystemCall(__func__, [&] {
    if (name == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (length == 0) return NVML_ERROR_INSUFFICIENT_SIZE;
    char text[1024];
    if (!ProcessName(pid, text, sizeof text)) return NVML_ERROR_NOT_FOUND;
    snprintf(name, length, "%s", text);
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlUnitGetCount, unsigned int* count) { return None(__func__, count); }
NVML_API(nvmlGetExcludedDeviceCount, unsigned int* count) { return None(__func__, count); }
NVML_API(nvmlGetBlacklistDeviceCount, unsigned int* count) { return None(__func__, count); }

}  // namespace partita::sim::nvml
