// The frame around every exported call, and what a call may ask of the simulated node.
//
//   NVML_API(nvmlDeviceGetMinorNumber, nvmlDevice_t handle, unsigned int* minor) {
//     return GpuCall(__func__, handle, [&](const Device& device) {
//       if (minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
//       *minor = device.board->minor;
//       return NVML_SUCCESS;
//     });
//   }
//
// The frame answers 1 before init (and in a child of fork until it initialises), 2 for a handle
// that names nothing, 15 for a lost GPU, 999 for a client of a driver that has been unloaded since,
// applies the call faults of the state and writes the call log. The body sees a consistent copy of
// the GPU's state. Bodies run concurrently and hold no lock.
#pragma once

#include <stdint.h>

#include "sim/nvml/nvml_abi.h"
#include "sim/state/layout.h"
#include "sim/state/store.h"

#define NVML_API(function, ...) \
  extern "C" __attribute__((visibility("default"))) nvmlReturn_t function(__VA_ARGS__)

namespace partita::sim::nvml {

// What a device, GPU-instance or compute-instance handle stands for.
struct Device {
  uint32_t gpu;    // index into Machine::boards: stable
  uint32_t index;  // NVML index: position among the GPUs that this process sees
  uint32_t gpu_instance, compute_instance;  // kNone: not that deep
  bool is_mig;                              // a MIG device handle (both instances are then given)
  const Board* board;
  Gpu state;  // at one instant

  // Of a MIG device or of GPU- and compute-instance handles: alive in `state`.
  const GpuInstance& instance() const { return state.instances[gpu_instance]; }
  const ComputeInstance& compute() const { return instance().compute[compute_instance]; }
};

enum class HandleKind : uint32_t {
  kGpu,
  kMigDevice,
  kGpuInstance,
  kComputeInstance,
  kEventSet,
  kSystemEventSet,
  kGpmSample,
  kUnit,
};

// One call from entry to return: use the templates below.
class Frame {
 public:
  explicit Frame(const char* function);
  ~Frame() = default;
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  nvmlReturn_t EnterInit();   // faults only: the process need not be initialised
  nvmlReturn_t EnterLocal();  // for what needs no driver
  nvmlReturn_t Enter();
  nvmlReturn_t EnterDevice(nvmlDevice_t handle, Device* out);
  nvmlReturn_t EnterGpuInstance(nvmlGpuInstance_t handle, Device* out);
  nvmlReturn_t EnterComputeInstance(nvmlComputeInstance_t handle, Device* out);
  nvmlReturn_t Leave(nvmlReturn_t code);

 private:
  nvmlReturn_t EnterHandle(const void* handle, uint32_t kinds, Device* out);
  nvmlReturn_t ApplyFault(uint32_t gpu);

  const char* function_;
  uint64_t start_ns_ = 0;  // 0: no call log
  uint32_t gpu_ = kNone;
  bool counted_ = false;
};

// body(): a call of the library alone. It works for whoever was cut off from the driver, too.
template <class F>
nvmlReturn_t LocalCall(const char* function, F body) {
  Frame frame(function);
  nvmlReturn_t code = frame.EnterLocal();
  if (code == NVML_SUCCESS) code = body();
  return frame.Leave(code);
}

// body(): a call that takes no handle.
template <class F>
nvmlReturn_t SystemCall(const char* function, F body) {
  Frame frame(function);
  nvmlReturn_t code = frame.Enter();
  if (code == NVML_SUCCESS) code = body();
  return frame.Leave(code);
}

// body(const Device&): a call that GPUs and MIG devices answer.
template <class F>
nvmlReturn_t DeviceCall(const char* function, nvmlDevice_t handle, F body) {
  Frame frame(function);
  Device device;
  nvmlReturn_t code = frame.EnterDevice(handle, &device);
  if (code == NVML_SUCCESS) code = body(static_cast<const Device&>(device));
  return frame.Leave(code);
}

// body(const Device&): a call that only a whole GPU answers; a MIG device gets `for_mig`.
template <class F>
nvmlReturn_t GpuCall(const char* function,
                     nvmlDevice_t handle,
                     F body,
                     nvmlReturn_t for_mig = NVML_ERROR_NOT_SUPPORTED) {
  return DeviceCall(function, handle,
                    [&](const Device& device) { return device.is_mig ? for_mig : body(device); });
}

template <class F>
nvmlReturn_t GpuInstanceCall(const char* function, nvmlGpuInstance_t handle, F body) {
  Frame frame(function);
  Device device;
  nvmlReturn_t code = frame.EnterGpuInstance(handle, &device);
  if (code == NVML_SUCCESS) code = body(static_cast<const Device&>(device));
  return frame.Leave(code);
}

template <class F>
nvmlReturn_t ComputeInstanceCall(const char* function, nvmlComputeInstance_t handle, F body) {
  Frame frame(function);
  Device device;
  nvmlReturn_t code = frame.EnterComputeInstance(handle, &device);
  if (code == NVML_SUCCESS) code = body(static_cast<const Device&>(device));
  return frame.Leave(code);
}

// Inside a body: the fault of this kind that this very call shall show, counted down; live 0: none.
CallFault TakeFault(const char* function, uint32_t gpu, CallFaultKind kind);

// The whole body of a call that is exported and not simulated: NOT_SUPPORTED; with
// PARTITA_SIM_STRICT=1 UNKNOWN (which no client has a fallback for) and a line on stderr.
nvmlReturn_t Unimplemented(const char* function);

// ---- the node, inside a body
// ---------------------------------------------------------------------

const Store& State();
const Machine& TheMachine();

// Without init, for the version calls: nullptr when there is no simulated node.
const Machine* MachineWithoutInit();

// GPUs that this process sees, in PCI order.
uint32_t VisibleCount();
uint32_t VisibleGpu(uint32_t index);  // index into Machine::boards, or kNone
uint32_t IndexOf(uint32_t gpu);       // NVML index, or kNone when not visible

// Which MIG devices this process sees: those whose two capability nodes it may open. For one call.
class MigVisibility {
 public:
  MigVisibility();
  bool Sees(uint32_t gpu, uint32_t gpu_instance, uint32_t compute_instance) const;

 private:
  uint64_t view_ = 0;  // names all that decides; 0: may change unnoticed
};

// A consistent copy, for calls that look GPUs up or compare two of them.
Gpu ReadGpu(uint32_t gpu);
uint64_t ReadNow();  // simulated time

bool IsRoot();  // privileged setters answer NO_PERMISSION to others

// Runs `body(Slot&, const Machine&)` under the state's lock on the newest state and commits when it
// answers 0; otherwise nothing has changed. What the frame saw may be gone by then: look again. A
// process that may only read the state gets NO_PERMISSION.
nvmlReturn_t BeginChange(Transaction* transaction);
nvmlReturn_t CommitChange(Transaction* transaction);

template <class F>
nvmlReturn_t Change(F body) {
  Transaction transaction;
  nvmlReturn_t code = BeginChange(&transaction);
  if (code == NVML_SUCCESS) code = body(transaction.slot(), transaction.machine());
  if (code == NVML_SUCCESS) code = CommitChange(&transaction);
  return code;
}

// ---- handles: stable addresses in a reserve of the process that nobody can read
// ---------------------

nvmlDevice_t GpuHandle(uint32_t gpu);
nvmlDevice_t MigDeviceHandle(uint32_t gpu, uint32_t gpu_instance, uint32_t compute_instance);
nvmlGpuInstance_t GpuInstanceHandle(uint32_t gpu, uint32_t gpu_instance);
nvmlComputeInstance_t ComputeInstanceHandle(uint32_t gpu,
                                            uint32_t gpu_instance,
                                            uint32_t compute_instance);
// Process-local objects: `number` < 4096.
void* NumberedHandle(HandleKind kind, uint32_t number);
uint32_t NumberOf(HandleKind kind, const void* handle);  // kNone when it is none

// ---- outputs
// --------------------------------------------------------------------------------------

// INVALID_ARGUMENT for nullptr, INSUFFICIENT_SIZE when text and NUL do not fit (nothing is
// written).
nvmlReturn_t WriteText(char* out, unsigned int length, const char* text);

template <class T>
nvmlReturn_t WriteValue(T* out, T value) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = value;
  return NVML_SUCCESS;
}

// A number that the board's data may not hold.
inline nvmlReturn_t WriteFact(unsigned int* out, const Fact& fact) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (fact.known == 0) return NVML_ERROR_NOT_SUPPORTED;
  *out = fact.value;
  return NVML_SUCCESS;
}

}  // namespace partita::sim::nvml
