// How GPUs, processors and switches are connected.

#include <string.h>

#include "sim/nvml/api.h"
#include "sim/nvml/handles.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/pci.h"

namespace partita::sim::nvml {
namespace {

// The other GPU of a call about two.
nvmlReturn_t ResolvePeer(nvmlDevice_t handle, uint32_t* gpu) {
  HandleTarget target{};
  if (!DecodeHandle(handle, &target) || target.kind != HandleKind::kGpu) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (IndexOf(target.gpu) == kNone) return NVML_ERROR_INVALID_ARGUMENT;
  if (ReadGpu(target.gpu).lost != 0) return NVML_ERROR_GPU_IS_LOST;
  *gpu = target.gpu;
  return NVML_SUCCESS;
}

bool HasSwitchLink(const Board& board) {
  for (uint32_t i = 0; i < board.link_count && i < kMaxLinks; ++i) {
    if (board.links[i].remote == LinkRemote::kSwitch) return true;
  }
  return false;
}

bool HasLinkTo(const Board& board, const PciFunction& remote) {
  for (uint32_t i = 0; i < board.link_count && i < kMaxLinks; ++i) {
    const Link& link = board.links[i];
    const PciFunction there = {link.remote_domain, link.remote_bus, link.remote_device};
    if (link.remote == LinkRemote::kGpu && there == remote) return true;
  }
  return false;
}

// By a direct link or because both hang on the switches.
bool JoinedByNvLink(const Board& a, const Board& b) {
  return HasLinkTo(a, b.pci) || (HasSwitchLink(a) && HasSwitchLink(b));
}

nvmlGpuP2PStatus_t P2PStatus(const Device& device, uint32_t peer, unsigned int index) {
  // An H200 asked about itself: not supported for indexes 0 to 4, OK for "unknown".
  if (index == NVML_P2P_CAPS_INDEX_UNKNOWN) return NVML_P2P_STATUS_OK;
  if (peer == device.gpu) return NVML_P2P_STATUS_NOT_SUPPORTED;
  // MIG takes peer access away.
  if (device.state.mig_current != 0 || ReadGpu(peer).mig_current != 0) {
    return NVML_P2P_STATUS_NOT_SUPPORTED;
  }
  const bool joined = JoinedByNvLink(*device.board, TheMachine().boards[peer]);
  if (index == NVML_P2P_CAPS_INDEX_NVLINK && !joined) return NVML_P2P_STATUS_NOT_SUPPORTED;
  if (joined && index != NVML_P2P_CAPS_INDEX_PCI) return NVML_P2P_STATUS_OK;
  // Over PCIe it depends on chipset and platform, of which the node's data says nothing.
  return NVML_P2P_STATUS_UNKNOWN;
}

// Bit masks of any length; words past the last known one are zero.
nvmlReturn_t WriteMask(unsigned int words, unsigned long* set, const uint64_t* mask, size_t known) {
  if (words == 0 || set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (unsigned int i = 0; i < words; ++i) set[i] = i < known ? mask[i] : 0;
  return NVML_SUCCESS;
}

nvmlReturn_t WriteCpuAffinity(const Board& board, unsigned int words, unsigned long* set) {
  return WriteMask(words, set, board.cpu_affinity,
                   sizeof board.cpu_affinity / sizeof board.cpu_affinity[0]);
}

// What all three structs have in common, field by field: the holes between them stay the caller's.
template <class Struct>
nvmlReturn_t WriteFabric(const Board& board, Struct* out) {
  if (board.fabric_state.known == 0) return NVML_ERROR_NOT_SUPPORTED;
  memcpy(out->clusterUuid, board.fabric_cluster_uuid, sizeof out->clusterUuid);
  out->status = NVML_SUCCESS;
  out->cliqueId = board.fabric_clique;
  out->state = static_cast<nvmlGpuFabricState_t>(board.fabric_state.value);
  return NVML_SUCCESS;
}

}  // namespace

NVML_API(nvmlDeviceGetTopologyCommonAncestor,
         nvmlDevice_t a,
         nvmlDevice_t b,
         nvmlGpuTopologyLevel_t* level) {
  return GpuCall(__func__, a, [&](const Device& device) {
    if (level == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    uint32_t peer = kNone;
    const nvmlReturn_t code = ResolvePeer(b, &peer);
    if (code != NVML_SUCCESS) return code;
    if (peer == device.gpu) return NVML_ERROR_NOT_SUPPORTED;
    *level = static_cast<nvmlGpuTopologyLevel_t>(device.board->common_ancestor[peer]);
    return NVML_SUCCESS;
  });
}

// Protocol B: without an array the number alone. Driver 580 refuses the question on a node with a
// single GPU.
NVML_API(nvmlDeviceGetTopologyNearestGpus,
         nvmlDevice_t handle,
         unsigned int level,
         unsigned int* count,
         nvmlDevice_t* devices) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (count == nullptr || level > NVML_TOPOLOGY_SYSTEM) return NVML_ERROR_INVALID_ARGUMENT;
    if (VisibleCount() < 2) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int found = 0;
    for (uint32_t i = 0; i < VisibleCount(); ++i) {
      const uint32_t gpu = VisibleGpu(i);
      if (gpu == device.gpu || device.board->common_ancestor[gpu] != level) continue;
      if (devices != nullptr) devices[found] = GpuHandle(gpu);
      ++found;
    }
    *count = found;
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetP2PStatus,
         nvmlDevice_t a,
         nvmlDevice_t b,
         unsigned int index,
         nvmlGpuP2PStatus_t* status) {
  return GpuCall(__func__, a, [&](const Device& device) {
    if (status == nullptr || index > NVML_P2P_CAPS_INDEX_UNKNOWN) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    uint32_t peer = kNone;
    const nvmlReturn_t code = ResolvePeer(b, &peer);
    if (code != NVML_SUCCESS) return code;
    *status = P2PStatus(device, peer, index);
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetGpuFabricInfo, nvmlDevice_t handle, nvmlGpuFabricInfo_t* fabric) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (fabric == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return WriteFabric(*device.board, fabric);
  });
}

// The tag says which struct the caller owns: version 2 ends before the summary.
NVML_API(nvmlDeviceGetGpuFabricInfoV, nvmlDevice_t handle, nvmlGpuFabricInfo_v3_t* fabric) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (fabric == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned int tag = fabric->version;
    if (tag != nvmlGpuFabricInfo_v2 && tag != nvmlGpuFabricInfo_v3) {
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    const nvmlReturn_t code = WriteFabric(*device.board, fabric);
    if (code != NVML_SUCCESS) return code;
    fabric->healthMask = 0;  // "not supported" in each of its fields
    if (tag == nvmlGpuFabricInfo_v3) {
      fabric->healthSummary = NVML_GPU_FABRIC_HEALTH_SUMMARY_NOT_SUPPORTED;
    }
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetCpuAffinity, nvmlDevice_t handle, unsigned int words, unsigned long* set) {
  return GpuCall(__func__, handle,
                 [&](const Device& device) { return WriteCpuAffinity(*device.board, words, set); });
}

// A node's data knows one set of processors per GPU, so node and socket are the same.
NVML_API(nvmlDeviceGetCpuAffinityWithinScope,
         nvmlDevice_t handle,
         unsigned int words,
         unsigned long* set,
         nvmlAffinityScope_t scope) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (scope > NVML_AFFINITY_SCOPE_SOCKET) return NVML_ERROR_INVALID_ARGUMENT;
    return WriteCpuAffinity(*device.board, words, set);
  });
}

NVML_API(nvmlDeviceGetMemoryAffinity,
         nvmlDevice_t handle,
         unsigned int words,
         unsigned long* set,
         nvmlAffinityScope_t scope) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (scope > NVML_AFFINITY_SCOPE_SOCKET) return NVML_ERROR_INVALID_ARGUMENT;
    // Where the platform does not say (-1), there is one node.
    const int32_t numa = device.board->numa_node;
    const uint32_t node = numa < 0 ? 0 : static_cast<uint32_t>(numa);
    uint64_t mask[2] = {};
    if (node < 128) mask[node / 64] = uint64_t{1} << (node % 64);
    return WriteMask(words, set, mask, 2);
  });
}

// Only GPUs whose memory is a NUMA node of the machine have one, and none of those is simulated.
NVML_API(nvmlDeviceGetNumaNodeId, nvmlDevice_t handle, unsigned int* node) {
  return GpuCall(__func__, handle,
                 [&](const Device&) { return WriteFact(node, {.known = 0, .value = 0}); });
}

}  // namespace partita::sim::nvml
