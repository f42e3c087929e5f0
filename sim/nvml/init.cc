// nvmlInit and nvmlShutdown: finding the simulated node and opening the nodes a driver library
// opens.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/nvml/api.h"
#include "sim/nvml/descriptors.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/session.h"
#include "sim/state/access.h"
#include "sim/state/mig.h"

namespace partita::sim::nvml {
namespace {

uint64_t initialisations = 0;

// The codes' texts on driver 580, by number.
constexpr const char* kErrorTexts[] = {
    "Success",
    "Uninitialized",
    "Invalid Argument",
    "Not Supported",
    "Insufficient Permissions",
    "Already Initialized",
    "Not Found",
    "Insufficient Size",
    "Insufficient External Power",
    "Driver Not Loaded",
    "Timeout",
    "Interrupt Request Issue",
    "NVML Shared Library Not Found",
    "Function Not Found",
    "Corrupted infoROM",
    "GPU is lost",
    "GPU requires reset",
    "GPU access blocked by the operating system",
    "Driver/library version mismatch",
    "In use by another client",
    "Insufficient Memory",
    "No data",
    "vGPU ECC not supported",
    "Insufficient Resources",
    "Invalid Frequency",
    "Argument version mismatch",
    "Requested functionality has been deprecated",
    "System is not in ready state",
    "No supported GPUs were found",
    "Resource not in correct state to perform requested operation",
    "Reset type is not supported for given device",
};

int OpenCapability(Session& session, uint32_t minor) {
  char path[64];
  snprintf(path, sizeof path, "/dev/nvidia-caps/nvidia-cap%u", minor);
  return KeepNode(session, path, TheMachine().major_caps, minor, O_RDONLY);
}

nvmlReturn_t OpenControlNodes(Session& session) {
  const Machine& machine = TheMachine();
  session.may_configure_mig = 1;
  if (session.visibility == 0) return NVML_SUCCESS;
  const int error = KeepNode(session, "/dev/nvidiactl", machine.major_gpu, 255, O_RDWR);
  if (error == ENOENT || error == ENOTDIR) return NVML_ERROR_DRIVER_NOT_LOADED;
  if (error != 0) return NVML_ERROR_NO_PERMISSION;
  KeepNode(session, "/dev/nvidia-uvm", machine.major_uvm, 0, O_RDWR);
  KeepNode(session, "/dev/nvidia-uvm", machine.major_uvm, 0, O_RDWR);
  session.may_configure_mig = OpenCapability(session, kMigConfigMinor) == 0 ? 1 : 0;
  OpenCapability(session, kMigMonitorMinor);
  return NVML_SUCCESS;
}

// Lists the GPUs that the nvidia driver owns and whose node this process may open.
void Attach(Session& session) {
  const Machine& machine = TheMachine();
  uint32_t count = 0;
  for (uint32_t gpu = 0; gpu < machine.gpu_count && gpu < kMaxGpus; ++gpu) {
    if (ReadGpu(gpu).pci_driver != PciDriver::kNvidia) continue;
    if (session.visibility != 0 && KeepGpuNode(session, gpu) != 0) continue;
    session.visible[count] = gpu;
    session.index_of[gpu] = count;
    ++count;
  }
  session.visible_count = count;
  session.attached = 1;
}

// The mapping stays over shutdown: a call that another thread began before it may still read. It is
// only replaced when the node is another one, and then only given back when no call runs.
int EnsureStore(Session& session) {
  char path[kMaxPath];
  if (!LocateState(&initialisations, path)) return ENOENT;
  Store fresh;
  const int error = Store::Open(path, Access::kReadWrite, &fresh);
  if (error != 0) return error;
  Store& store = TheStore();
  if (store.is_open() && store.SameFile(fresh)) {
    fresh.Close();
    return 0;
  }
  const bool idle = __atomic_load_n(&session.in_flight, __ATOMIC_SEQ_CST) <= 1;
  if (store.is_open() && idle) store.Close();
  store = fresh;
  return 0;
}

// A name given in PARTITA_SIM_CALLS is opened for appending; it stays open, because another thread
// may be about to write its line.
void OpenCallLog(Session& session) {
  const char* path = getenv("PARTITA_SIM_CALLS");
  const bool idle = __atomic_load_n(&session.in_flight, __ATOMIC_SEQ_CST) <= 1;
  if (session.log_fd > 0 && idle) {
    close(session.log_fd);
    __atomic_store_n(&session.log_fd, -1, __ATOMIC_RELAXED);
  }
  if (path == nullptr || path[0] == '\0' || session.log_fd > 0) return;
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;
  // Never one of 0, 1, 2: a client that closed them would find our log behind its stderr.
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  close(fd);
  __atomic_store_n(&session.log_fd, high, __ATOMIC_RELAXED);
}

nvmlReturn_t CodeOfOpen(int error) {
  switch (error) {
    case 0: return NVML_SUCCESS;
    case ENOENT:
    case ENOTDIR: return NVML_ERROR_DRIVER_NOT_LOADED;
    case EACCES:
    case EPERM: return NVML_ERROR_NO_PERMISSION;
    case EPROTO: return NVML_ERROR_LIB_RM_VERSION_MISMATCH;  // a state of another partita-sim
    default: return NVML_ERROR_UNKNOWN;
  }
}

// The first init of the process. Under the session's lock.
nvmlReturn_t Start(Session& session, unsigned int flags) {
  struct Driver {
    uint64_t loads;
    uint32_t loaded, mismatch;
  };
  const Driver driver = TheStore().Read([](const Slot& slot) {
    return Driver{slot.driver_loads, slot.driver_loaded, slot.version_mismatch};
  });
  if (driver.loaded == 0) return NVML_ERROR_DRIVER_NOT_LOADED;
  if (driver.mismatch != 0) return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
  if (TheMachine().gpu_count == 0 && (flags & NVML_INIT_FLAG_NO_GPUS) == 0) {
    return NVML_ERROR_GPU_NOT_FOUND;
  }
  session.visibility = IsSwitchedOn("PARTITA_SIM_VISIBILITY", true) ? 1 : 0;
  session.strict = IsSwitchedOn("PARTITA_SIM_STRICT", false) ? 1 : 0;
  session.driver_loads = driver.loads;
  session.owner_pid = static_cast<uint64_t>(getpid());
  session.node_count = 0;
  session.visible_count = 0;
  session.attached = 0;
  for (uint32_t& index : session.index_of) index = kNone;
  // With the pid: event sets that a child of fork inherits are not its own.
  const uint64_t number = __atomic_add_fetch(&initialisations, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&session.epoch, session.owner_pid << 32 | (number & 0xFFFFFFFF),
                   __ATOMIC_SEQ_CST);
  MakeWakeDescriptors(session);
  const nvmlReturn_t code = OpenControlNodes(session);
  if (code != NVML_SUCCESS) CloseNodes(session);
  return code;
}

nvmlReturn_t Init(const char* function, unsigned int flags) {
  Frame frame(function);
  Session& session = TheSession();
  nvmlReturn_t code = NVML_SUCCESS;
  if (!Initialised()) {
    ScopedLock lock(&session.lock);
    if (!Initialised()) {
      code = CodeOfOpen(EnsureStore(session));
      OpenCallLog(session);
    }
  }
  // Outside the lock: an injected fault may make it hang.
  if (code == NVML_SUCCESS) code = frame.EnterInit();
  if (code == NVML_SUCCESS) {
    ScopedLock lock(&session.lock);
    if (!Initialised()) {
      __atomic_store_n(&session.references, 0, __ATOMIC_SEQ_CST);
      code = Start(session, flags);
    }
    if (code == NVML_SUCCESS && session.attached == 0 && (flags & NVML_INIT_FLAG_NO_ATTACH) == 0) {
      Attach(session);
    }
    if (code == NVML_SUCCESS) __atomic_add_fetch(&session.references, 1, __ATOMIC_SEQ_CST);
  }
  return frame.Leave(code);
}

nvmlReturn_t Shutdown(Session& session) {
  ScopedLock lock(&session.lock);
  if (!Initialised()) return NVML_ERROR_UNINITIALIZED;
  if (__atomic_sub_fetch(&session.references, 1, __ATOMIC_SEQ_CST) != 0) return NVML_SUCCESS;
  AwaitNoWaits(&session.waits);
  __atomic_store_n(&session.epoch, 0, __ATOMIC_SEQ_CST);
  CloseNodes(session);
  return NVML_SUCCESS;
}

}  // namespace

const Machine* MachineWithoutInit() {
  Session& session = TheSession();
  if (Initialised()) return &TheMachine();
  ScopedLock lock(&session.lock);
  if (!Initialised() && EnsureStore(session) != 0) return nullptr;
  return &TheMachine();
}

}  // namespace partita::sim::nvml

namespace nvml = partita::sim::nvml;

NVML_API(nvmlInit_v2, void) { return nvml::Init(__func__, 0); }
NVML_API(nvmlInit, void) { return nvml::Init(__func__, 0); }
NVML_API(nvmlInitWithFlags, unsigned int flags) { return nvml::Init(__func__, flags); }

NVML_API(nvmlShutdown, void) {
  nvml::Frame frame(__func__);
  nvmlReturn_t code = frame.Enter();
  // A client whose driver went away must still be able to let go.
  if (code == NVML_SUCCESS || code == NVML_ERROR_UNKNOWN) code = nvml::Shutdown(nvml::TheSession());
  return frame.Leave(code);
}

// Any number may come in, also one that the enum does not name.
extern "C" __attribute__((visibility("default"), no_sanitize("undefined"))) const char*
nvmlErrorString(nvmlReturn_t result) {
  const auto code = static_cast<unsigned int>(result);
  constexpr unsigned int kTexts = sizeof nvml::kErrorTexts / sizeof nvml::kErrorTexts[0];
  return code < kTexts ? nvml::kErrorTexts[code] : "Unknown Error";
}
