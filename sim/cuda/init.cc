// cuInit: finding the simulated node, the MPS daemon and the devices.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/cuda/cuda_calls.h"
#include "sim/cuda/mps_client.h"
#include "sim/cuda/session.h"
#include "sim/state/access.h"
#include "sim/state/use.h"

namespace partita::sim::cuda {
namespace {

int initialised_in = 0;  // in this library: what its own path is found by

// Kept open for the life of the process, as the driver's library keeps them: who uses a GPU is told
// from the descriptors too.
void KeepOpen(const char* path) { (void)open(path, O_PATH | O_CLOEXEC); }

void KeepGpuNode(const Session& session, uint32_t ordinal) {
  char path[32];
  const uint32_t gpu = session.devices.devices[ordinal].gpu;
  snprintf(path, sizeof path, "/dev/nvidia%u", session.store.machine().boards[gpu].minor);
  KeepOpen(path);
}

// Without /dev/nvidia-uvm CUDA's answer is 999: the usual sign of a container without it.
CUresult OpenControlNodes(const Machine& machine) {
  if (!IsSwitchedOn("PARTITA_SIM_VISIBILITY", true)) return CUDA_SUCCESS;
  if (Grant("/dev/nvidiactl", machine.major_gpu, 255, O_RDWR) != 0) return CUDA_ERROR_NO_DEVICE;
  if (Grant("/dev/nvidia-uvm", machine.major_uvm, 0, O_RDWR) != 0) return CUDA_ERROR_UNKNOWN;
  KeepOpen("/dev/nvidiactl");
  KeepOpen("/dev/nvidia-uvm");
  return CUDA_SUCCESS;
}

CUresult OpenState(Session& session) {
  char path[kMaxPath];
  if (!session.store.is_open()) {
    if (!LocateState(&initialised_in, path)) return CUDA_ERROR_NO_DEVICE;
    const int error = Store::Open(path, Access::kReadWrite, &session.store);
    if (error == EPROTO) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    if (error != 0) return CUDA_ERROR_NO_DEVICE;
  }
  struct Driver {
    uint32_t loaded, mismatch;
  };
  const Driver driver = session.store.Read([](const Slot& slot) {
    return Driver{slot.driver_loaded, slot.version_mismatch};
  });
  if (driver.mismatch != 0) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  return driver.loaded != 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult Start(Session& session) {
  CUresult code = OpenState(session);
  if (code == CUDA_SUCCESS) code = OpenControlNodes(session.store.machine());
  if (code == CUDA_SUCCESS) code = ConnectToDaemon(session);
  if (code == CUDA_SUCCESS && !session.is_mps_client) {
    code = ListOwnDevices(session.store, &session.devices);
  }
  if (code == CUDA_SUCCESS && session.holders < 0) {
    session.holders = OpenHolders(session.store.root());
    if (session.holders < 0) code = CUDA_ERROR_UNKNOWN;
  }
  if (code != CUDA_SUCCESS) return code;
  for (uint32_t i = 0; i < session.devices.count; ++i) KeepGpuNode(session, i);
  initialised_in = getpid();
  __atomic_store_n(&session.owner_pid, initialised_in, __ATOMIC_RELEASE);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace partita::sim::cuda

namespace cuda = partita::sim::cuda;

CUDA_API(cuInit, unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (cuda::Entered() == CUDA_SUCCESS) return CUDA_SUCCESS;
  cuda::Session& session = cuda::TheSession();
  // A child of fork: its parent's lock may be held for ever.
  if (__atomic_load_n(&session.owner_pid, __ATOMIC_ACQUIRE) != 0) return CUDA_ERROR_NOT_INITIALIZED;
  cuda::Lock lock;
  return session.owner_pid != 0 ? CUDA_SUCCESS : cuda::Start(session);
}

CUDA_API(cuDriverGetVersion, int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cuda::Session& session = cuda::TheSession();
  cuda::Lock lock;
  const CUresult code = cuda::OpenState(session);
  if (code != CUDA_SUCCESS) return code;
  *version = static_cast<int>(session.store.machine().cuda_version);
  return CUDA_SUCCESS;
}
