// Which GPUs and MIG devices there are, how they are called and how they are found.

#include <stdio.h>
#include <string.h>

#include "sim/nvml/api.h"
#include "sim/nvml/descriptors.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/pci.h"
#include "sim/state/mig.h"

namespace partita::sim::nvml {
namespace {

// Calls visit(gpu_instance, compute_instance) for the MIG devices that this process sees, in the
// driver's order (by GPU instance, then by compute instance), until it answers true.
template <class F>
bool VisitMigDevices(uint32_t gpu, const Gpu& state, F visit) {
  if (state.mig_current == 0) return false;
  const MigVisibility visibility;
  for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
    if (state.instances[gi].live == 0) continue;
    for (uint32_t ci = 0; ci < kMaxComputeInstances; ++ci) {
      if (state.instances[gi].compute[ci].live == 0 || !visibility.Sees(gpu, gi, ci)) continue;
      if (visit(gi, ci)) return true;
    }
  }
  return false;
}

nvmlReturn_t WriteGpu(uint32_t gpu, nvmlDevice_t* out) {
  if (ReadGpu(gpu).lost != 0) return NVML_ERROR_GPU_IS_LOST;
  *out = GpuHandle(gpu);
  KeepHandleNodes(gpu);
  return NVML_SUCCESS;
}

nvmlReturn_t Count(const char* function, unsigned int* count) {
  return SystemCall(function, [&] { return WriteValue(count, VisibleCount()); });
}

nvmlReturn_t FindByIndex(const char* function, unsigned int index, nvmlDevice_t* out) {
  return SystemCall(function, [&] {
    if (out == nullptr || index >= VisibleCount()) return NVML_ERROR_INVALID_ARGUMENT;
    return WriteGpu(VisibleGpu(index), out);
  });
}

nvmlReturn_t FindByBusId(const char* function, const char* bus_id, nvmlDevice_t* out) {
  return SystemCall(function, [&] {
    PciFunction wanted{};
    if (out == nullptr || bus_id == nullptr || !ParseBusId(bus_id, &wanted)) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < VisibleCount(); ++i) {
      const uint32_t gpu = VisibleGpu(i);
      if (TheMachine().boards[gpu].pci == wanted) return WriteGpu(gpu, out);
    }
    return NVML_ERROR_NOT_FOUND;
  });
}

// Drivers before R470 called a MIG device by its place: "MIG-GPU-<uuid>/<GPU instance>/<compute
// instance>".
void NameMigDeviceOfOld(const Board& board, uint32_t gi, uint32_t ci, char* out, size_t size) {
  snprintf(out, size, "MIG-%s/%u/%u", board.uuid, gi, ci);
}

bool FindMigDeviceByUuid(uint32_t gpu, const Gpu& state, const char* uuid, nvmlDevice_t* out) {
  const Board& board = TheMachine().boards[gpu];
  return VisitMigDevices(gpu, state, [&](uint32_t gi, uint32_t ci) {
    char name[kUuidSize] = "";
    char old_name[kUuidSize + 32] = "";
    NameMigDevice(board, gi, ci, name);
    NameMigDeviceOfOld(board, gi, ci, old_name, sizeof old_name);
    if (strcmp(uuid, name) != 0 && strcmp(uuid, old_name) != 0) return false;
    *out = MigDeviceHandle(gpu, gi, ci);
    return true;
  });
}

// Driver 580 takes a GPU's UUID without its prefix, and no other spelling.
bool IsUuidOf(const Board& board, const char* uuid) {
  return strcmp(uuid, board.uuid) == 0 ||
         (strncmp(board.uuid, "GPU-", 4) == 0 && strcmp(uuid, board.uuid + 4) == 0);
}

void NameDevice(const Device& device, char* out, size_t size) {
  const Board& board = *device.board;
  const GiProfile* gi = device.is_mig ? FindGiProfile(board, device.instance().profile) : nullptr;
  const CiProfile* ci =
      gi == nullptr ? nullptr : FindCiProfile(board, gi->constant, device.compute().profile);
  if (ci == nullptr) {
    snprintf(out, size, "%s", board.name);
    return;
  }
  char profile[kProfileNameSize] = "";
  NameCiProfile(board, *gi, *ci, profile);
  snprintf(out, size, "%s MIG %s", board.name, profile);
}

}  // namespace

NVML_API(nvmlDeviceGetCount_v2, unsigned int* count) { return Count(__func__, count); }
NVML_API(nvmlDeviceGetCount, unsigned int* count) { return Count(__func__, count); }

NVML_API(nvmlDeviceGetHandleByIndex_v2, unsigned int index, nvmlDevice_t* device) {
  return FindByIndex(__func__, index, device);
}
NVML_API(nvmlDeviceGetHandleByIndex, unsigned int index, nvmlDevice_t* device) {
  return FindByIndex(__func__, index, device);
}

NVML_API(nvmlDeviceGetHandleByPciBusId_v2, const char* bus_id, nvmlDevice_t* device) {
  return FindByBusId(__func__, bus_id, device);
}
NVML_API(nvmlDeviceGetHandleByPciBusId, const char* bus_id, nvmlDevice_t* device) {
  return FindByBusId(__func__, bus_id, device);
}

NVML_API(nvmlDeviceGetHandleByUUID, const char* uuid, nvmlDevice_t* device) {
  return SystemCall(__func__, [&] {
    if (uuid == nullptr || device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < VisibleCount(); ++i) {
      const uint32_t gpu = VisibleGpu(i);
      if (IsUuidOf(TheMachine().boards[gpu], uuid)) return WriteGpu(gpu, device);
      if (strncmp(uuid, "MIG-", 4) != 0) continue;
      const Gpu state = ReadGpu(gpu);
      nvmlDevice_t found = nullptr;
      if (!FindMigDeviceByUuid(gpu, state, uuid, &found)) continue;
      if (state.lost != 0) return NVML_ERROR_GPU_IS_LOST;
      *device = found;
      return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
  });
}

NVML_API(nvmlDeviceGetHandleBySerial, const char* serial, nvmlDevice_t* device) {
  return SystemCall(__func__, [&] {
    if (serial == nullptr || device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    uint32_t found = kNone;
    for (uint32_t i = 0; i < VisibleCount(); ++i) {
      const Board& board = TheMachine().boards[VisibleGpu(i)];
      if (board.serial[0] == '\0' || strcmp(board.serial, serial) != 0) continue;
      if (found != kNone) return NVML_ERROR_INVALID_ARGUMENT;  // several boards share it
      found = VisibleGpu(i);
    }
    return found == kNone ? NVML_ERROR_NOT_FOUND : WriteGpu(found, device);
  });
}

NVML_API(nvmlDeviceGetName, nvmlDevice_t handle, char* name, unsigned int length) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    char text[sizeof(Board::name) + kProfileNameSize + 8];
    NameDevice(device, text, sizeof text);
    return WriteText(name, length, text);
  });
}

NVML_API(nvmlDeviceGetUUID, nvmlDevice_t handle, char* uuid, unsigned int length) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    if (!device.is_mig) return WriteText(uuid, length, device.board->uuid);
    char text[kUuidSize] = "";
    NameMigDevice(*device.board, device.gpu_instance, device.compute_instance, text);
    return WriteText(uuid, length, text);
  });
}

NVML_API(nvmlDeviceGetIndex, nvmlDevice_t handle, unsigned int* index) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    if (!device.is_mig) return WriteValue(index, device.index);
    unsigned int before = 0;
    const bool found = VisitMigDevices(device.gpu, device.state, [&](uint32_t gi, uint32_t ci) {
      if (gi == device.gpu_instance && ci == device.compute_instance) return true;
      ++before;
      return false;
    });
    return found ? WriteValue(index, before) : NVML_ERROR_INVALID_ARGUMENT;
  });
}

}  // namespace partita::sim::nvml
