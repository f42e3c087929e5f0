#include "sim/nvml/api.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sim/nvml/handles.h"
#include "sim/nvml/session.h"
#include "sim/state/time.h"

namespace partita::sim::nvml {
namespace {

constexpr uint32_t Bit(HandleKind kind) { return 1U << static_cast<uint32_t>(kind); }

// "nvmlDeviceGetCount" in a fault catches every version of the call, "…_v2" that one alone.
bool Catches(const CallFault& fault, const char* function, uint32_t gpu) {
  if (fault.live != 1 || (fault.gpu != kNone && fault.gpu != gpu)) return false;
  if (strcmp(fault.function, "*") == 0) return strcmp(function, "nvmlShutdown") != 0;
  const size_t length = strnlen(fault.function, sizeof fault.function);
  if (strncmp(fault.function, function, length) != 0) return false;
  const char* rest = function + length;
  return rest[0] == '\0' || (rest[0] == '_' && rest[1] == 'v' && rest[2] >= '1' && rest[2] <= '9');
}

// Those with an effect of their own are asked for by the call that has it.
bool IsForEveryCall(CallFaultKind kind) {
  return kind == CallFaultKind::kFail || kind == CallFaultKind::kSlow ||
         kind == CallFaultKind::kHang;
}

template <class Wanted>
CallFault FindFault(const Slot& slot, const char* function, uint32_t gpu, Wanted wanted) {
  for (const CallFault& fault : slot.call_faults) {
    if (Catches(fault, function, gpu) && wanted(fault.kind)) return fault;
  }
  return CallFault{};
}

// Counts one call down. False: others used the fault up meanwhile.
bool UseUp(const CallFault& fault) {
  Transaction transaction;
  if (Transaction::Begin(TheStore(), &transaction) != 0) return true;  // may only read: no counting
  for (CallFault& now : transaction.slot().call_faults) {
    if (now.live != 1 || now.id != fault.id) continue;
    now.remaining -= 1;
    if (now.remaining == 0) now.live = now.kind == CallFaultKind::kHang ? 2 : 0;
    transaction.Commit();
    return true;
  }
  return false;
}

void SleepMilliseconds(uint32_t delay) {
  timespec left = {static_cast<time_t>(delay / 1000), static_cast<long>(delay % 1000 * 1000000)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

void HangUntilCleared(uint64_t id) {
  for (;;) {
    const uint32_t seen = TheStore().Wakeups();
    const bool live = TheStore().Read([id](const Slot& slot) {
      for (const CallFault& fault : slot.call_faults) {
        if (fault.live != 0 && fault.id == id) return true;
      }
      return false;
    });
    if (!live) return;
    TheStore().WaitForChange(seen, -1);
  }
}

}  // namespace

Frame::Frame(const char* function) : function_(function) {
  Session& session = TheSession();
  __atomic_add_fetch(&session.in_flight, 1, __ATOMIC_SEQ_CST);
  counted_ = true;
  if (__atomic_load_n(&session.log_fd, __ATOMIC_RELAXED) > 0) start_ns_ = MonotonicNow();
}

nvmlReturn_t Frame::EnterInit() { return ApplyFault(kNone); }

nvmlReturn_t Frame::EnterLocal() {
  return Initialised() ? ApplyFault(kNone) : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t Frame::Enter() {
  if (!Initialised()) return NVML_ERROR_UNINITIALIZED;
  if (IsCutOff()) return NVML_ERROR_UNKNOWN;
  return ApplyFault(kNone);
}

nvmlReturn_t Frame::EnterDevice(nvmlDevice_t handle, Device* out) {
  return EnterHandle(handle, Bit(HandleKind::kGpu) | Bit(HandleKind::kMigDevice), out);
}

nvmlReturn_t Frame::EnterGpuInstance(nvmlGpuInstance_t handle, Device* out) {
  return EnterHandle(handle, Bit(HandleKind::kGpuInstance), out);
}

nvmlReturn_t Frame::EnterComputeInstance(nvmlComputeInstance_t handle, Device* out) {
  return EnterHandle(handle, Bit(HandleKind::kComputeInstance), out);
}

nvmlReturn_t Frame::EnterHandle(const void* handle, uint32_t kinds, Device* out) {
  if (!Initialised()) return NVML_ERROR_UNINITIALIZED;
  HandleTarget target{};
  if (!DecodeHandle(handle, &target) || (Bit(target.kind) & kinds) == 0) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const Session& session = TheSession();
  out->gpu = target.gpu;
  out->index = session.index_of[target.gpu];
  if (out->index == kNone) return NVML_ERROR_INVALID_ARGUMENT;
  const bool has_compute =
      target.kind == HandleKind::kMigDevice || target.kind == HandleKind::kComputeInstance;
  out->is_mig = target.kind == HandleKind::kMigDevice;
  out->gpu_instance = target.kind == HandleKind::kGpu ? kNone : target.gpu_instance;
  out->compute_instance = has_compute ? target.compute_instance : kNone;
  out->board = &TheMachine().boards[target.gpu];
  gpu_ = target.gpu;
  out->state = ReadGpu(target.gpu);
  if (IsCutOff()) return NVML_ERROR_UNKNOWN;
  if (out->state.lost != 0) return NVML_ERROR_GPU_IS_LOST;
  const nvmlReturn_t fault = ApplyFault(target.gpu);
  if (fault != NVML_SUCCESS) return fault;
  const bool alive = out->gpu_instance == kNone ||
                     (out->gpu_instance < kMaxGpuInstances && out->instance().live != 0 &&
                      (out->compute_instance == kNone || out->compute().live != 0));
  return alive ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t Frame::ApplyFault(uint32_t gpu) {
  for (;;) {
    const CallFault fault = TheStore().Read(
        [this, gpu](const Slot& slot) { return FindFault(slot, function_, gpu, IsForEveryCall); });
    if (fault.live == 0) return NVML_SUCCESS;
    if (fault.remaining != 0 && !UseUp(fault)) continue;
    switch (fault.kind) {
      case CallFaultKind::kFail: return static_cast<nvmlReturn_t>(fault.code);
      case CallFaultKind::kSlow: SleepMilliseconds(fault.delay_ms); return NVML_SUCCESS;
      case CallFaultKind::kHang: HangUntilCleared(fault.id); return NVML_SUCCESS;
      case CallFaultKind::kActivation:
      case CallFaultKind::kOtherPlace:
      case CallFaultKind::kOtherProfile: break;
    }
    return NVML_SUCCESS;
  }
}

CallFault TakeFault(const char* function, uint32_t gpu, CallFaultKind kind) {
  for (;;) {
    const CallFault fault = TheStore().Read([=](const Slot& slot) {
      return FindFault(slot, function, gpu, [kind](CallFaultKind each) { return each == kind; });
    });
    if (fault.live == 0 || fault.remaining == 0 || UseUp(fault)) return fault;
  }
}

nvmlReturn_t Frame::Leave(nvmlReturn_t code) {
  Session& session = TheSession();
  const int log = __atomic_load_n(&session.log_fd, __ATOMIC_RELAXED);
  if (log > 0) {
    // nvmlInit opens the log after its frame began.
    const uint64_t spent = start_ns_ == 0 ? 0 : (MonotonicNow() - start_ns_) / 1000;
    char gpu[12] = "-";
    if (gpu_ != kNone) snprintf(gpu, sizeof gpu, "%u", gpu_);
    char line[160];
    const int length = snprintf(line, sizeof line, "%d %ld %s gpu=%s rc=%d us=%llu\n", getpid(),
                                syscall(SYS_gettid), function_, gpu, static_cast<int>(code),
                                static_cast<unsigned long long>(spent));
    // One write to a file opened with O_APPEND: lines of several processes do not mix.
    if (length > 0 && write(log, line, static_cast<size_t>(length)) < 0) {
      __atomic_store_n(&session.log_fd, -1, __ATOMIC_RELAXED);  // a broken log never fails a call
    }
  }
  if (counted_) __atomic_sub_fetch(&session.in_flight, 1, __ATOMIC_SEQ_CST);
  counted_ = false;
  return code;
}

nvmlReturn_t Unimplemented(const char* function) {
  return SystemCall(function, [function] {
    if (TheSession().strict == 0) return NVML_ERROR_NOT_SUPPORTED;
    fprintf(stderr, "libnvidia-ml (simulated): %s is not simulated (PARTITA_SIM_STRICT is set)\n",
            function);
    return NVML_ERROR_UNKNOWN;
  });
}

bool IsCutOff() {
  const uint64_t loads = TheStore().Read(
      [](const Slot& slot) { return slot.driver_loaded != 0 ? slot.driver_loads : 0; });
  return loads != TheSession().driver_loads;
}

const Store& State() { return TheStore(); }
const Machine& TheMachine() { return TheStore().machine(); }

uint32_t VisibleCount() { return TheSession().visible_count; }

uint32_t VisibleGpu(uint32_t index) {
  const Session& session = TheSession();
  return index < session.visible_count ? session.visible[index] : kNone;
}

uint32_t IndexOf(uint32_t gpu) { return gpu < kMaxGpus ? TheSession().index_of[gpu] : kNone; }

Gpu ReadGpu(uint32_t gpu) {
  return TheStore().Read([gpu](const Slot& slot) { return slot.gpus[gpu]; });
}

uint64_t ReadNow() {
  return SimulatedNow(TheStore().Read([](const Slot& slot) { return slot.clock; }));
}

bool IsRoot() { return geteuid() == 0; }

nvmlReturn_t BeginChange(Transaction* transaction) {
  switch (Transaction::Begin(TheStore(), transaction)) {
    case 0: return NVML_SUCCESS;
    case EACCES:
    case EPERM:
    case EROFS: return NVML_ERROR_NO_PERMISSION;
    default: return NVML_ERROR_UNKNOWN;
  }
}

nvmlReturn_t CommitChange(Transaction* transaction) {
  // What could not be rendered is shown by the next owner of the lock; the change itself is done.
  transaction->Commit();
  return NVML_SUCCESS;
}

nvmlReturn_t WriteText(char* out, unsigned int length, const char* text) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const size_t size = strlen(text) + 1;
  if (size > length) return NVML_ERROR_INSUFFICIENT_SIZE;
  memcpy(out, text, size);
  return NVML_SUCCESS;
}

}  // namespace partita::sim::nvml
