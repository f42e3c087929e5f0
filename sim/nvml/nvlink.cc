// NVLink, link by link.

#include <string.h>

#include "sim/nvml/api.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/pci.h"

namespace partita::sim::nvml {
namespace {

// Links that the 580 library itself knows; a larger number is refused before the board is asked.
constexpr unsigned int kLibraryLinks = 18;

bool LinkExists(const Device& device, unsigned int link) {
  return link < device.board->link_count && link < kMaxLinks;
}

// MIG turns the links off.
bool LinkActive(const Device& device) { return device.state.mig_current == 0; }

nvmlPciInfo_t RemotePci(const Link& link) {
  const PciFunction function = {link.remote_domain, link.remote_bus, link.remote_device};
  const Machine& machine = TheMachine();
  for (uint32_t i = 0; i < machine.gpu_count && i < kMaxGpus; ++i) {
    if (machine.boards[i].pci == function) return PciInfoOf(machine.boards[i]);
  }
  return PciInfoOf(function, 0, 0);
}

// Writes the first `bytes` of the struct: the older call's callers own no more.
nvmlReturn_t WriteRemotePci(const Device& device, unsigned int link, void* out, size_t bytes) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (!LinkExists(device, link) || !LinkActive(device)) return NVML_ERROR_NOT_SUPPORTED;
  const nvmlPciInfo_t pci = RemotePci(device.board->links[link]);
  memcpy(out, &pci, bytes);
  return NVML_SUCCESS;
}

}  // namespace

NVML_API(nvmlDeviceGetNvLinkState,
         nvmlDevice_t handle,
         unsigned int link,
         nvmlEnableState_t* active) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (active == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!LinkExists(device, link)) return NVML_ERROR_NOT_SUPPORTED;
    *active = LinkActive(device) ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetNvLinkVersion,
         nvmlDevice_t handle,
         unsigned int link,
         unsigned int* version) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    const uint32_t known = LinkExists(device, link) && device.board->link_version != 0;
    return WriteFact(version, {.known = known, .value = device.board->link_version});
  });
}

// That a link carries peer access is what the product's data says; of its other abilities it does
// not, and they answer NOT_SUPPORTED.
NVML_API(nvmlDeviceGetNvLinkCapability,
         nvmlDevice_t handle,
         unsigned int link,
         unsigned int capability,
         unsigned int* result) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (result == nullptr || capability >= NVML_NVLINK_CAP_COUNT || link >= kLibraryLinks) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (!LinkExists(device, link)) return NVML_ERROR_NOT_SUPPORTED;
    const uint32_t known =
        capability == NVML_NVLINK_CAP_P2P_SUPPORTED || capability == NVML_NVLINK_CAP_VALID;
    return WriteFact(result, {.known = known, .value = 1});
  });
}

NVML_API(nvmlDeviceGetNvLinkRemoteDeviceType,
         nvmlDevice_t handle,
         unsigned int link,
         nvmlIntNvLinkDeviceType_t* type) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (type == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!LinkExists(device, link) || !LinkActive(device)) return NVML_ERROR_NOT_SUPPORTED;
    *type = static_cast<nvmlIntNvLinkDeviceType_t>(device.board->links[link].remote);
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetNvLinkRemotePciInfo_v2,
         nvmlDevice_t handle,
         unsigned int link,
         nvmlPciInfo_t* pci) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    return WriteRemotePci(device, link, pci, sizeof(nvmlPciInfo_t));
  });
}

NVML_API(nvmlDeviceGetNvLinkRemotePciInfo,
         nvmlDevice_t handle,
         unsigned int link,
         nvmlPciInfo_t* pci) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    return WriteRemotePci(device, link, pci, kPciInfoBytesV2);
  });
}

}  // namespace partita::sim::nvml
