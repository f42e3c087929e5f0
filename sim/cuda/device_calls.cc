// What a device is: facts of its board, and of the slice.

#include <stdio.h>
#include <string.h>

#include "sim/cuda/cuda_calls.h"
#include "sim/cuda/session.h"
#include "sim/state/mig.h"
#include "sim/state/use.h"

namespace partita::sim::cuda {
namespace {

constexpr uint32_t kHertzOfMega = 1000;  // attributes count kHz

CUresult TellFact(const Fact& fact, uint32_t scale, int* value) {
  if (fact.known == 0) return CUDA_ERROR_NOT_SUPPORTED;
  *value = static_cast<int>(fact.value * scale);
  return CUDA_SUCCESS;
}

CUresult TellState(const Session& session, uint32_t gpu, uint32_t Gpu::*word, int* value) {
  *value =
      session.store.Read([&](const Slot& slot) { return static_cast<int>(slot.gpus[gpu].*word); });
  return CUDA_SUCCESS;
}

CUresult TellAttribute(const Session& session, uint32_t ordinal, int attribute, int* value) {
  const uint32_t gpu = session.devices.devices[ordinal].gpu;
  const Board& board = session.store.machine().boards[gpu];
  const auto tell = [&](uint32_t number) {
    *value = static_cast<int>(number);
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return tell(32);
    case CU_DEVICE_ATTRIBUTE_INTEGRATED: return tell(0);
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      if (board.multiprocessors.known == 0) return CUDA_ERROR_NOT_SUPPORTED;
      return tell(UsableMultiprocessors(session, ordinal));
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return TellFact(board.clock_max_graphics, kHertzOfMega, value);
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return TellFact(board.clock_max_memory, kHertzOfMega, value);
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return TellFact(board.memory_bus_width, 1, value);
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
      return TellState(session, gpu, &Gpu::compute_mode, value);
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED: return TellState(session, gpu, &Gpu::ecc_current, value);
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: return tell(board.pci.domain);
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return tell(board.pci.bus);
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: return tell(board.pci.device);
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return tell(board.compute_major);
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return tell(board.compute_minor);
    default: break;
  }
  const bool known = attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX;
  return known ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

// "GPU-d64bec6d-47c0-9a0b-bb6c-36622f5541d1" as 16 bytes.
void ReadUuid(const char* text, CUuuid* out) {
  memset(out, 0, sizeof *out);
  uint32_t digit = 0;
  for (const char* at = strchr(text, '-'); at != nullptr && *at != '\0' && digit < 32; ++at) {
    if (*at == '-') continue;
    const unsigned value = static_cast<unsigned>(*at <= '9' ? *at - '0' : (*at | 0x20) - 'a' + 10);
    auto* byte = reinterpret_cast<unsigned char*>(&out->bytes[digit / 2]);
    *byte = static_cast<unsigned char>(static_cast<unsigned>(*byte) << 4 | (value & 15U));
    ++digit;
  }
}

CUresult TellTotal(size_t* bytes, CUdevice device) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return DeviceCall(device, [&](Session& session, uint32_t ordinal) {
    const DeviceRef& ref = session.devices.devices[ordinal];
    *bytes = session.store.Read([&](const Slot& slot) {
      return RoomOn(session.store.machine(), slot, ref.gpu, ref.gpu_instance).total;
    });
    return CUDA_SUCCESS;
  });
}

}  // namespace
}  // namespace partita::sim::cuda

namespace cuda = partita::sim::cuda;

CUDA_API(cuDeviceGetCount, int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::Call([&](cuda::Session& session) {
    *count = static_cast<int>(session.devices.count);
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuDeviceGet, CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::DeviceCall(ordinal, [&](cuda::Session&, uint32_t) {
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuDeviceGetName, char* name, int size, CUdevice device) {
  if (name == nullptr || size <= 0) return CUDA_ERROR_INVALID_VALUE;
  return cuda::DeviceCall(device, [&](cuda::Session& session, uint32_t ordinal) {
    char whole[128];
    session.store.Read([&](const partita::sim::Slot& slot) {
      cuda::NameDevice(session.store.machine(), slot, session.devices.devices[ordinal], whole);
      return 0;
    });
    snprintf(name, static_cast<size_t>(size), "%s", whole);
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuDeviceGetUuid_v2, CUuuid* uuid, CUdevice device) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::DeviceCall(device, [&](cuda::Session& session, uint32_t ordinal) {
    char text[partita::sim::kUuidSize];
    cuda::NameUuid(session.store.machine(), session.devices.devices[ordinal], text);
    cuda::ReadUuid(text, uuid);
    return CUDA_SUCCESS;
  });
}

// The older call knows no MIG devices, and tells the GPU's.
CUDA_API(cuDeviceGetUuid, CUuuid* uuid, CUdevice device) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::DeviceCall(device, [&](cuda::Session& session, uint32_t ordinal) {
    const uint32_t gpu = session.devices.devices[ordinal].gpu;
    cuda::ReadUuid(session.store.machine().boards[gpu].uuid, uuid);
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuDeviceTotalMem_v2, size_t* bytes, CUdevice device) {
  return cuda::TellTotal(bytes, device);
}
CUDA_API(cuDeviceTotalMem, size_t* bytes, CUdevice device) {
  return cuda::TellTotal(bytes, device);
}

CUDA_API(cuDeviceGetAttribute, int* value, int attribute, CUdevice device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::DeviceCall(device, [&](cuda::Session& session, uint32_t ordinal) {
    return cuda::TellAttribute(session, ordinal, attribute, value);
  });
}

CUDA_API(cuDeviceComputeCapability, int* major, int* minor, CUdevice device) {
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::DeviceCall(device, [&](cuda::Session& session, uint32_t ordinal) {
    cuda::TellAttribute(session, ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major);
    return cuda::TellAttribute(session, ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                               minor);
  });
}

CUDA_API(cuDeviceGetPCIBusId, char* text, int size, CUdevice device) {
  if (text == nullptr || size <= 0) return CUDA_ERROR_INVALID_VALUE;
  return cuda::DeviceCall(device, [&](cuda::Session& session, uint32_t ordinal) {
    const uint32_t gpu = session.devices.devices[ordinal].gpu;
    const partita::sim::PciFunction& pci = session.store.machine().boards[gpu].pci;
    snprintf(text, static_cast<size_t>(size), "%04X:%02X:%02X.0", pci.domain, pci.bus, pci.device);
    return CUDA_SUCCESS;
  });
}
