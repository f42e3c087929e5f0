// Which devices a CUDA program has, and in which order.
#pragma once

#include <stdint.h>

#include "sim/cuda/cuda_abi.h"
#include "sim/state/layout.h"
#include "sim/state/store.h"

namespace partita::sim::cuda {

struct DeviceRef {
  uint32_t gpu;
  uint32_t gpu_instance, compute_instance;  // kNone: the whole GPU
};

struct DeviceList {
  uint32_t count;
  DeviceRef devices[kMaxGpus];
};

inline bool operator==(const DeviceRef& a, const DeviceRef& b) {
  return a.gpu == b.gpu && a.gpu_instance == b.gpu_instance &&
         a.compute_instance == b.compute_instance;
}

// What there is to choose from: GPUs in the order of CUDA, each with the MIG devices that this
// process may open.
struct Candidates {
  uint32_t count;
  uint32_t gpus[kMaxGpus];
  uint32_t mig[kMaxGpus];  // 1: MIG is on, only its MIG devices can be used
  bool (*may_use)(const Machine& machine, uint32_t gpu, uint32_t gi, uint32_t ci);
};

// GPUs of the nvidia driver whose nodes this process may open. `by_bus`: in PCI order, else the
// fastest first, as CUDA_DEVICE_ORDER decides.
Candidates FindCandidates(const Machine& machine, const Slot& slot, bool by_bus);

// `visible` is CUDA_VISIBLE_DEVICES or null. The list ends at the first word that names nothing;
// a device named twice is INVALID_DEVICE, none at all NO_DEVICE (both seen on driver 580). A MIG
// device stands alone: CUDA uses one compute instance, and no GPU beside it.
CUresult ChooseDevices(const Machine& machine,
                       const Slot& slot,
                       const Candidates& candidates,
                       const char* visible,
                       DeviceList* out);

// The same among the devices of an MPS server, by their order there.
CUresult ChooseOffered(const Machine& machine,
                       const DeviceList& offered,
                       const char* visible,
                       DeviceList* out);

// From the environment and the state.
CUresult ListOwnDevices(const Store& store, DeviceList* out);

uint32_t Multiprocessors(const Machine& machine, const Slot& slot, const DeviceRef& device);
// "NVIDIA H200", "NVIDIA H200 MIG 1g.18gb".
void NameDevice(const Machine& machine,
                const Slot& slot,
                const DeviceRef& device,
                char* out /* 128 */);
// "GPU-…" or "MIG-…".
void NameUuid(const Machine& machine, const DeviceRef& device, char* out /* kUuidSize */);

}  // namespace partita::sim::cuda
