#include "sim/smi/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>
#include <string_view>

namespace partita::sim::smi {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";

std::string RealPath(const char* path) {
  char real[PATH_MAX];
  return realpath(path, real) != nullptr ? real : "";
}

// Not merely something of that name: the source tree has a folder sim/state.
bool IsFile(const std::string& path) {
  struct stat about = {};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

void* OpenLibrary() {
  if (void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) return library;
  const std::string program = RealPath("/proc/self/exe");
  const std::string directory = program.substr(0, program.find_last_of('/'));
  for (const char* beside : {"/../lib64/", "/../lib/"}) {
    if (void* library = dlopen((directory + beside + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  }
  return nullptr;
}

// The calls of 470 that these stand in for.
decltype(&::nvmlDeviceGetMemoryInfo) plain_memory = nullptr;
decltype(&::nvmlDeviceGetGpuInstanceProfileInfo) plain_gpu_profile = nullptr;
decltype(&::nvmlGpuInstanceGetComputeInstanceProfileInfo) plain_compute_profile = nullptr;

bool IsNewerThan470(std::string_view name) {
  return name == "nvmlDeviceGetMemoryInfo_v2" || name == "nvmlDeviceGetGpuInstanceProfileInfoV" ||
         name == "nvmlGpuInstanceGetComputeInstanceProfileInfoV";
}

nvmlReturn_t MemoryByPlainCall(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  nvmlMemory_t plain = {};
  const nvmlReturn_t answer = plain_memory(device, &plain);
  *memory = {memory->version, plain.total, 0, plain.free, plain.used};
  return answer;
}

// The plain calls tell no names; these are made as the names of whole profiles are.
nvmlReturn_t GpuProfileByPlainCall(nvmlDevice_t device,
                                   unsigned int constant,
                                   nvmlGpuInstanceProfileInfo_v2_t* info) {
  nvmlGpuInstanceProfileInfo_t plain = {};
  const nvmlReturn_t answer = plain_gpu_profile(device, constant, &plain);
  info->id = plain.id;
  info->isP2pSupported = plain.isP2pSupported;
  info->sliceCount = plain.sliceCount;
  info->instanceCount = plain.instanceCount;
  info->multiprocessorCount = plain.multiprocessorCount;
  info->copyEngineCount = plain.copyEngineCount;
  info->decoderCount = plain.decoderCount;
  info->encoderCount = plain.encoderCount;
  info->jpegCount = plain.jpegCount;
  info->ofaCount = plain.ofaCount;
  info->memorySizeMB = plain.memorySizeMB;
  snprintf(info->name, sizeof info->name, "MIG %ug.%llugb", plain.sliceCount,
           (plain.memorySizeMB + 1023) / 1024);
  return answer;
}

nvmlReturn_t ComputeProfileByPlainCall(nvmlGpuInstance_t instance,
                                       unsigned int constant,
                                       unsigned int engines,
                                       nvmlComputeInstanceProfileInfo_v2_t* info) {
  nvmlComputeInstanceProfileInfo_t plain = {};
  const nvmlReturn_t answer = plain_compute_profile(instance, constant, engines, &plain);
  info->id = plain.id;
  info->sliceCount = plain.sliceCount;
  info->instanceCount = plain.instanceCount;
  info->multiprocessorCount = plain.multiprocessorCount;
  info->sharedCopyEngineCount = plain.sharedCopyEngineCount;
  info->sharedDecoderCount = plain.sharedDecoderCount;
  info->sharedEncoderCount = plain.sharedEncoderCount;
  info->sharedJpegCount = plain.sharedJpegCount;
  info->sharedOfaCount = plain.sharedOfaCount;
  snprintf(info->name, sizeof info->name, "MIG %uc", plain.sliceCount);
  return answer;
}

void UseOlderCalls(Nvml* nvml) {
  plain_memory = nvml->nvmlDeviceGetMemoryInfo;
  plain_gpu_profile = nvml->nvmlDeviceGetGpuInstanceProfileInfo;
  plain_compute_profile = nvml->nvmlGpuInstanceGetComputeInstanceProfileInfo;
  if (nvml->nvmlDeviceGetMemoryInfo_v2 == nullptr)
    nvml->nvmlDeviceGetMemoryInfo_v2 = MemoryByPlainCall;
  if (nvml->nvmlDeviceGetGpuInstanceProfileInfoV == nullptr)
    nvml->nvmlDeviceGetGpuInstanceProfileInfoV = GpuProfileByPlainCall;
  if (nvml->nvmlGpuInstanceGetComputeInstanceProfileInfoV == nullptr)
    nvml->nvmlGpuInstanceGetComputeInstanceProfileInfoV = ComputeProfileByPlainCall;
}

}  // namespace

bool LoadNvml(Nvml* nvml) {
  void* library = OpenLibrary();
  if (library == nullptr) return false;
#define PARTITA_SMI_RESOLVE(name)                                          \
  nvml->name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (nvml->name == nullptr && !IsNewerThan470(#name)) return false;
  PARTITA_SMI_CALLS(PARTITA_SMI_RESOLVE)
#undef PARTITA_SMI_RESOLVE
  UseOlderCalls(nvml);
  return true;
}

std::string StatePath(const Nvml& nvml) {
  const char* wanted = getenv("PARTITA_SIM_STATE");
  if (wanted != nullptr && *wanted != '\0') return wanted;
  Dl_info about = {};
  if (dladdr(reinterpret_cast<void*>(nvml.nvmlInit_v2), &about) != 0 &&
      about.dli_fname != nullptr) {
    std::string directory = RealPath(about.dli_fname);
    for (std::size_t slash = directory.rfind('/'); slash != std::string::npos;
         slash = directory.rfind('/')) {
      directory.resize(slash);
      if (IsFile(directory + "/sim/state")) return directory + "/sim/state";
    }
  }
  return "/run/partita-sim/sim/state";
}

}  // namespace partita::sim::smi
