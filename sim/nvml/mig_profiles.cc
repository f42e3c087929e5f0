// What a GPU could be divided into: GPU-instance profiles, placements, capacity.

#include <stdio.h>
#include <string.h>

#include "sim/nvml/mig.h"
#include "sim/nvml/nvml_calls.h"

namespace partita::sim::nvml {

nvmlReturn_t FindProfile(const Board& board, uint32_t id, const GiProfile** out) {
  if (!HasMig(board)) return NVML_ERROR_NOT_SUPPORTED;
  *out = FindGiProfileById(board, id);
  if (*out != nullptr) return NVML_SUCCESS;
  return IsKnownGiProfileId(TheMachine(), id) ? NVML_ERROR_NOT_SUPPORTED
                                              : NVML_ERROR_INVALID_ARGUMENT;
}

namespace {

// Some drivers tell what a GPU can make only while its MIG is on.
bool TellsProfiles(const Device& gpu) {
  return TheMachine().profiles_need_mig == 0 || gpu.state.mig_current != 0;
}

// The profile with an NVML constant: NOT_SUPPORTED up to the driver's highest, INVALID_ARGUMENT
// beyond it (17 on driver 580, with which a client stops its walk).
nvmlReturn_t FindConstant(const Device& gpu, uint32_t constant, const GiProfile** out) {
  if (constant > TheMachine().highest_gi_constant) return NVML_ERROR_INVALID_ARGUMENT;
  *out = HasMig(*gpu.board) && TellsProfiles(gpu) ? FindGiProfile(*gpu.board, constant) : nullptr;
  return *out != nullptr ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

void WriteName(const Board& board, const GiProfile& profile, char* out, size_t size) {
  char name[kProfileNameSize];
  NameGiProfile(board, profile, name);
  snprintf(out, size, "MIG %s", name);
}

// Driver 580 leaves `version` 0 on success: a client that does not set it anew fails at its next
// call, here as there.
constexpr unsigned int kVersionWrittenBack = 0;

nvmlReturn_t WriteV2(const Board& board, const GiProfile& p, nvmlGpuInstanceProfileInfo_v2_t* out) {
  nvmlGpuInstanceProfileInfo_v2_t info{};
  info.version = kVersionWrittenBack;
  info.id = p.id;
  info.isP2pSupported = p.p2p;
  info.sliceCount = p.slice_count;
  info.instanceCount = p.instance_count;
  info.multiprocessorCount = p.multiprocessors;
  info.copyEngineCount = p.copy_engines;
  info.decoderCount = p.decoders;
  info.encoderCount = p.encoders;
  info.jpegCount = p.jpegs;
  info.ofaCount = p.ofas;
  info.memorySizeMB = p.memory_mb;
  WriteName(board, p, info.name, sizeof info.name);
  *out = info;
  return NVML_SUCCESS;
}

nvmlReturn_t WriteV3(const Board& board, const GiProfile& p, void* out) {
  nvmlGpuInstanceProfileInfo_v3_t info{};
  info.version = kVersionWrittenBack;
  info.id = p.id;
  info.sliceCount = p.slice_count;
  info.instanceCount = p.instance_count;
  info.multiprocessorCount = p.multiprocessors;
  info.copyEngineCount = p.copy_engines;
  info.decoderCount = p.decoders;
  info.encoderCount = p.encoders;
  info.jpegCount = p.jpegs;
  info.ofaCount = p.ofas;
  info.memorySizeMB = p.memory_mb;
  // Driver 580 leaves this name empty; filled, because the interface promises it.
  WriteName(board, p, info.name, sizeof info.name);
  info.capabilities = p.capabilities;
  memcpy(out, &info, sizeof info);
  return NVML_SUCCESS;
}

// Both versions have the same size: the tag alone tells them apart.
nvmlReturn_t WriteTaggedGpuProfile(const Board& board,
                                   const GiProfile& profile,
                                   nvmlGpuInstanceProfileInfo_v2_t* out) {
  static_assert(sizeof(nvmlGpuInstanceProfileInfo_v2_t) == sizeof(nvmlGpuInstanceProfileInfo_v3_t));
  if (out->version == nvmlGpuInstanceProfileInfo_v2) return WriteV2(board, profile, out);
  return WriteV3(board, profile, out);
}

bool IsTag(const nvmlGpuInstanceProfileInfo_v2_t* info) {
  return info != nullptr && (info->version == nvmlGpuInstanceProfileInfo_v2 ||
                             info->version == nvmlGpuInstanceProfileInfo_v3);
}

nvmlReturn_t Placements(const Device& gpu,
                        unsigned int id,
                        nvmlGpuInstancePlacement_t* out,
                        unsigned int* count) {
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const GiProfile* profile = nullptr;
  const nvmlReturn_t code = FindProfile(*gpu.board, id, &profile);
  if (code != NVML_SUCCESS) return code;
  // The count that comes in is ignored, as on driver 580: callers ask for it first.
  *count = profile->placement_count;
  for (uint32_t i = 0; out != nullptr && i < profile->placement_count; ++i) {
    out[i] = {profile->placement_starts[i], profile->placement_size};
  }
  return NVML_SUCCESS;
}

}  // namespace
}  // namespace partita::sim::nvml

namespace nvml = partita::sim::nvml;
using nvml::Device;
using partita::sim::GiProfile;

NVML_API(nvmlDeviceGetGpuInstanceProfileInfo,
         nvmlDevice_t device,
         unsigned int constant,
         nvmlGpuInstanceProfileInfo_t* info) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const GiProfile* p = nullptr;
    const nvmlReturn_t code = nvml::FindConstant(gpu, constant, &p);
    if (code != NVML_SUCCESS) return code;
    *info = {p->id,           p->p2p,      p->slice_count, p->instance_count, p->multiprocessors,
             p->copy_engines, p->decoders, p->encoders,    p->jpegs,          p->ofas,
             p->memory_mb};
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetGpuInstanceProfileInfoV,
         nvmlDevice_t device,
         unsigned int constant,
         nvmlGpuInstanceProfileInfo_v2_t* info) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (!nvml::IsTag(info)) return NVML_ERROR_INVALID_ARGUMENT;
    const GiProfile* profile = nullptr;
    const nvmlReturn_t code = nvml::FindConstant(gpu, constant, &profile);
    return code == NVML_SUCCESS ? nvml::WriteTaggedGpuProfile(*gpu.board, *profile, info) : code;
  });
}

NVML_API(nvmlDeviceGetGpuInstanceProfileInfoByIdV,
         nvmlDevice_t device,
         unsigned int id,
         nvmlGpuInstanceProfileInfo_v2_t* info) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (!nvml::IsTag(info)) return NVML_ERROR_INVALID_ARGUMENT;
    const GiProfile* profile = nullptr;
    const nvmlReturn_t code = nvml::FindProfile(*gpu.board, id, &profile);
    return code == NVML_SUCCESS ? nvml::WriteTaggedGpuProfile(*gpu.board, *profile, info) : code;
  });
}

NVML_API(nvmlDeviceGetGpuInstancePossiblePlacements_v2,
         nvmlDevice_t device,
         unsigned int id,
         nvmlGpuInstancePlacement_t* placements,
         unsigned int* count) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    return nvml::Placements(gpu, id, placements, count);
  });
}

NVML_API(nvmlDeviceGetGpuInstancePossiblePlacements,
         nvmlDevice_t device,
         unsigned int id,
         nvmlGpuInstancePlacement_t* placements,
         unsigned int* count) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (placements == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return nvml::Placements(gpu, id, placements, count);
  });
}

NVML_API(nvmlDeviceGetGpuInstanceRemainingCapacity,
         nvmlDevice_t device,
         unsigned int id,
         unsigned int* count) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const GiProfile* profile = nullptr;
    const nvmlReturn_t code = nvml::FindProfile(*gpu.board, id, &profile);
    if (code != NVML_SUCCESS) return code;
    *count = partita::sim::RemainingGpuInstances(*gpu.board, gpu.state, *profile);
    return NVML_SUCCESS;
  });
}
