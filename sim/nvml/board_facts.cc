// What is printed on the board or fused into it: the same as long as the board lives.

#include <stdio.h>
#include <string.h>

#include "sim/nvml/api.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/pci.h"

namespace partita::sim::nvml {
namespace {

// A text of the board; empty means that its data does not hold one.
nvmlReturn_t WriteBoardText(char* out, unsigned int length, const char* text) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (text[0] == '\0') return NVML_ERROR_NOT_SUPPORTED;
  return WriteText(out, length, text);
}

template <class Member>
nvmlReturn_t GpuText(
    const char* function, nvmlDevice_t handle, char* out, unsigned int length, Member member) {
  return GpuCall(function, handle, [&](const Device& device) {
    return WriteBoardText(out, length, device.board->*member);
  });
}

nvmlReturn_t GpuFact(const char* function,
                     nvmlDevice_t handle,
                     unsigned int* out,
                     Fact Board::*member) {
  return GpuCall(function, handle,
                 [&](const Device& device) { return WriteFact(out, device.board->*member); });
}

nvmlReturn_t WriteOldPci(const char* function, nvmlDevice_t handle, void* pci, size_t bytes) {
  return GpuCall(function, handle, [&](const Device& device) {
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlPciInfo_t today = PciInfoOf(*device.board);
    memcpy(pci, &today, bytes);
    return NVML_SUCCESS;
  });
}

}  // namespace

NVML_API(nvmlDeviceGetBrand, nvmlDevice_t handle, nvmlBrandType_t* brand) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    return WriteValue(brand, static_cast<nvmlBrandType_t>(device.board->brand));
  });
}

NVML_API(nvmlDeviceGetArchitecture, nvmlDevice_t handle, nvmlDeviceArchitecture_t* architecture) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    return WriteValue(architecture, device.board->architecture);
  });
}

NVML_API(nvmlDeviceGetCudaComputeCapability, nvmlDevice_t handle, int* major, int* minor) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    if (major == nullptr || minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *major = static_cast<int>(device.board->compute_major);
    *minor = static_cast<int>(device.board->compute_minor);
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetMinorNumber, nvmlDevice_t handle, unsigned int* minor) {
  return GpuCall(__func__, handle,
                 [&](const Device& device) { return WriteValue(minor, device.board->minor); });
}

NVML_API(nvmlDeviceGetPciInfo_v3, nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return GpuCall(__func__, handle,
                 [&](const Device& device) { return WriteValue(pci, PciInfoOf(*device.board)); });
}

// The calls of old write the structs of their time: one byte more would smash the caller's stack.
NVML_API(nvmlDeviceGetPciInfo_v2, nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return WriteOldPci(__func__, handle, pci, kPciInfoBytesV2);
}

NVML_API(nvmlDeviceGetPciInfo, nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return WriteOldPci(__func__, handle, pci, kPciInfoBytesV1);
}

NVML_API(nvmlDeviceGetPciInfoExt, nvmlDevice_t handle, nvmlPciInfoExt_v1_t* pci) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (pci->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const Board& board = *device.board;
    pci->domain = board.pci.domain;
    pci->bus = board.pci.bus;
    pci->device = board.pci.device;
    pci->pciDeviceId = board.pci_device_id;
    pci->pciSubSystemId = board.pci_subsystem_id;
    pci->baseClass = board.pci_class >> 16;
    pci->subClass = (board.pci_class >> 8) & 0xFF;
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
    return NVML_SUCCESS;
  });
}

// An H200 at 0000:00:06.0 answers 6, a GPU at 18:00.0 0x1800: the device number is not shifted.
NVML_API(nvmlDeviceGetBoardId, nvmlDevice_t handle, unsigned int* id) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    const PciFunction& pci = device.board->pci;
    return WriteValue(id, pci.domain << 16 | pci.bus << 8 | pci.device);
  });
}

NVML_API(nvmlDeviceGetMultiGpuBoard, nvmlDevice_t handle, unsigned int* multi) {
  return GpuCall(__func__, handle, [&](const Device&) { return WriteValue(multi, 0U); });
}

NVML_API(nvmlDeviceGetBusType, nvmlDevice_t handle, nvmlBusType_t* type) {
  return GpuCall(__func__, handle, [&](const Device&) {
    return WriteValue<nvmlBusType_t>(type, NVML_BUS_TYPE_PCIE);
  });
}

NVML_API(nvmlDeviceGetSerial, nvmlDevice_t handle, char* serial, unsigned int length) {
  return GpuText(__func__, handle, serial, length, &Board::serial);
}

NVML_API(nvmlDeviceGetBoardPartNumber, nvmlDevice_t handle, char* number, unsigned int length) {
  return GpuText(__func__, handle, number, length, &Board::part_number);
}

NVML_API(nvmlDeviceGetVbiosVersion, nvmlDevice_t handle, char* version, unsigned int length) {
  return GpuText(__func__, handle, version, length, &Board::vbios);
}

NVML_API(nvmlDeviceGetInforomImageVersion,
         nvmlDevice_t handle,
         char* version,
         unsigned int length) {
  return GpuText(__func__, handle, version, length, &Board::inforom_image);
}

NVML_API(nvmlDeviceGetInforomVersion,
         nvmlDevice_t handle,
         unsigned int object,
         char* version,
         unsigned int length) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    switch (object) {
      case NVML_INFOROM_OEM: return WriteBoardText(version, length, device.board->inforom_oem);
      case NVML_INFOROM_ECC: return WriteBoardText(version, length, device.board->inforom_ecc);
      case NVML_INFOROM_POWER: return WriteBoardText(version, length, device.board->inforom_power);
      case NVML_INFOROM_DEN: return WriteBoardText(version, length, "");
      default: return NVML_ERROR_INVALID_ARGUMENT;
    }
  });
}

// Any number will do as long as it stays the same: an H200 answers 0.
NVML_API(nvmlDeviceGetInforomConfigurationChecksum, nvmlDevice_t handle, unsigned int* checksum) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    const uint32_t has_inforom = device.board->inforom_image[0] != '\0';
    return WriteFact(checksum, {.known = has_inforom, .value = 0});
  });
}

NVML_API(nvmlDeviceGetModuleId, nvmlDevice_t handle, unsigned int* id) {
  return GpuFact(__func__, handle, id, &Board::module_id);
}

NVML_API(nvmlDeviceGetNumGpuCores, nvmlDevice_t handle, unsigned int* cores) {
  return GpuFact(__func__, handle, cores, &Board::cores);
}

NVML_API(nvmlDeviceGetMemoryBusWidth, nvmlDevice_t handle, unsigned int* bits) {
  return GpuFact(__func__, handle, bits, &Board::memory_bus_width);
}

NVML_API(nvmlDeviceGetIrqNum, nvmlDevice_t handle, unsigned int* irq) {
  return GpuFact(__func__, handle, irq, &Board::irq);
}

NVML_API(nvmlDeviceGetNumFans, nvmlDevice_t handle, unsigned int* fans) {
  return GpuFact(__func__, handle, fans, &Board::fans);
}

// A simulated link always runs at the speed of the board.
NVML_API(nvmlDeviceGetMaxPcieLinkGeneration, nvmlDevice_t handle, unsigned int* generation) {
  return GpuFact(__func__, handle, generation, &Board::pcie_generation);
}

NVML_API(nvmlDeviceGetCurrPcieLinkGeneration, nvmlDevice_t handle, unsigned int* generation) {
  return GpuFact(__func__, handle, generation, &Board::pcie_generation);
}

NVML_API(nvmlDeviceGetMaxPcieLinkWidth, nvmlDevice_t handle, unsigned int* width) {
  return GpuFact(__func__, handle, width, &Board::pcie_width);
}

NVML_API(nvmlDeviceGetCurrPcieLinkWidth, nvmlDevice_t handle, unsigned int* width) {
  return GpuFact(__func__, handle, width, &Board::pcie_width);
}

// No length: the caller owns 64 bytes.
NVML_API(nvmlDeviceGetGspFirmwareVersion, nvmlDevice_t handle, char* version) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const Fact& gsp = device.board->gsp_firmware;
    if (gsp.known == 0 || gsp.value == 0) return NVML_ERROR_NOT_SUPPORTED;
    return WriteText(version, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE, TheMachine().driver_version);
  });
}

NVML_API(nvmlDeviceGetGspFirmwareMode,
         nvmlDevice_t handle,
         unsigned int* enabled,
         unsigned int* by_default) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (enabled == nullptr || by_default == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const Fact& gsp = device.board->gsp_firmware;
    if (gsp.known == 0) return NVML_ERROR_NOT_SUPPORTED;
    *enabled = gsp.value;
    *by_default = gsp.value;
    return NVML_SUCCESS;
  });
}

}  // namespace partita::sim::nvml
