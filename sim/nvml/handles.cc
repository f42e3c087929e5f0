#include "sim/nvml/handles.h"

#include <sys/mman.h>

namespace partita::sim::nvml {
namespace {

constexpr uintptr_t kStride = 16;
constexpr uint32_t kPerGpu = 128;  // 16 GPU instances of 8 compute instances
constexpr uint32_t kPerKind = kMaxGpus * kPerGpu;
constexpr uint32_t kKinds = 8;
constexpr uintptr_t kReserve = kStride * kPerKind * kKinds;

static_assert(kMaxGpuInstances < 16 && kMaxComputeInstances <= 8);

// Reserved once, kept for the life of the process and over fork, unload and reload (the library is
// linked with nodelete): clients cache handles over shutdown and dlclose.
char* reserve = nullptr;

char* Reserve() {
  char* base = __atomic_load_n(&reserve, __ATOMIC_ACQUIRE);
  if (base != nullptr) return base;
  void* made =
      mmap(nullptr, kReserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  char* const address = static_cast<char*>(made);
  if (__atomic_compare_exchange_n(&reserve, &base, address, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return address;
  }
  munmap(made, kReserve);  // another thread was first
  return base;
}

void* Encode(HandleKind kind, uint32_t number) {
  char* const base = Reserve();
  if (base == nullptr) return nullptr;
  return base + kStride * (static_cast<uintptr_t>(kind) * kPerKind + number);
}

uint32_t Number(uint32_t gpu, uint32_t gpu_instance, uint32_t compute_instance) {
  return gpu * kPerGpu + gpu_instance * kMaxComputeInstances + compute_instance;
}

}  // namespace

bool DecodeHandle(const void* handle, HandleTarget* out) {
  const auto base = reinterpret_cast<uintptr_t>(__atomic_load_n(&reserve, __ATOMIC_ACQUIRE));
  const auto address = reinterpret_cast<uintptr_t>(handle);
  if (base == 0 || address < base || address >= base + kReserve) return false;
  const uintptr_t offset = address - base;
  if (offset % kStride != 0) return false;
  const auto number = static_cast<uint32_t>(offset / kStride);
  out->kind = static_cast<HandleKind>(number / kPerKind);
  const uint32_t rest = number % kPerKind;
  out->gpu = rest / kPerGpu;
  out->gpu_instance = rest % kPerGpu / kMaxComputeInstances;
  out->compute_instance = rest % kMaxComputeInstances;
  // Only what the functions below hand out is a handle.
  switch (out->kind) {
    case HandleKind::kGpu: return out->gpu_instance == 0 && out->compute_instance == 0;
    case HandleKind::kGpuInstance: return out->compute_instance == 0;
    case HandleKind::kMigDevice:
    case HandleKind::kComputeInstance:
    case HandleKind::kEventSet:
    case HandleKind::kSystemEventSet:
    case HandleKind::kGpmSample:
    case HandleKind::kUnit: return true;
  }
  return false;
}

nvmlDevice_t GpuHandle(uint32_t gpu) {
  return static_cast<nvmlDevice_t>(Encode(HandleKind::kGpu, Number(gpu, 0, 0)));
}

nvmlDevice_t MigDeviceHandle(uint32_t gpu, uint32_t gpu_instance, uint32_t compute_instance) {
  return static_cast<nvmlDevice_t>(
      Encode(HandleKind::kMigDevice, Number(gpu, gpu_instance, compute_instance)));
}

nvmlGpuInstance_t GpuInstanceHandle(uint32_t gpu, uint32_t gpu_instance) {
  return static_cast<nvmlGpuInstance_t>(
      Encode(HandleKind::kGpuInstance, Number(gpu, gpu_instance, 0)));
}

nvmlComputeInstance_t ComputeInstanceHandle(uint32_t gpu,
                                            uint32_t gpu_instance,
                                            uint32_t compute_instance) {
  return static_cast<nvmlComputeInstance_t>(
      Encode(HandleKind::kComputeInstance, Number(gpu, gpu_instance, compute_instance)));
}

void* NumberedHandle(HandleKind kind, uint32_t number) {
  return number < kPerKind ? Encode(kind, number) : nullptr;
}

uint32_t NumberOf(HandleKind kind, const void* handle) {
  HandleTarget target{};
  if (!DecodeHandle(handle, &target) || target.kind != kind) return kNone;
  return Number(target.gpu, target.gpu_instance, target.compute_instance);
}

}  // namespace partita::sim::nvml
