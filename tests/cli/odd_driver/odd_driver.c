// A driver's library with answers that mean nothing, as PARTITA_ODD names them. Everything else is
// that of the library it is linked with: the loader goes on to it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  unsigned int start, size;
} Placement;
typedef struct {
  void* device;
  unsigned int id, profile;
  Placement placement;
} InstanceInfo;

static int Is(const char* what) {
  const char* odd = getenv("PARTITA_ODD");
  return odd != NULL && strcmp(odd, what) == 0;
}

int nvmlGpuInstanceGetInfo(void* instance, InstanceInfo* info);
int nvmlDeviceGetGpuInstancePossiblePlacements_v2(void* device,
                                                  unsigned int profile,
                                                  Placement* placements,
                                                  unsigned int* count);
int nvmlDeviceGetGpuInstanceProfileInfoV(void* device, unsigned int constant, unsigned int* info);
int nvmlGpuInstanceGetComputeInstanceProfileInfo(void* instance,
                                                 unsigned int constant,
                                                 unsigned int engines,
                                                 unsigned int* info);

int nvmlGpuInstanceGetInfo(void* instance, InstanceInfo* info) {
  int (*next)(void*, InstanceInfo*) = dlsym(RTLD_NEXT, __func__);
  const int code = next(instance, info);
  if (code == 0 && Is("instance-size")) info->placement.size = 0;
  if (code == 0 && Is("instance-start")) info->placement.start = 4000000000U;
  return code;
}

int nvmlDeviceGetGpuInstancePossiblePlacements_v2(void* device,
                                                  unsigned int profile,
                                                  Placement* placements,
                                                  unsigned int* count) {
  int (*next)(void*, unsigned int, Placement*, unsigned int*) = dlsym(RTLD_NEXT, __func__);
  const int code = next(device, profile, placements, count);
  for (unsigned int i = 0; code == 0 && placements != NULL && i < *count; ++i) {
    if (Is("place-size")) placements[i].size = 0;
    if (Is("place-end")) placements[i].size = 4294967295U;
  }
  return code;
}

int nvmlDeviceGetGpuInstanceProfileInfoV(void* device, unsigned int constant, unsigned int* info) {
  int (*next)(void*, unsigned int, unsigned int*) = dlsym(RTLD_NEXT, __func__);
  const int code = next(device, constant, info);
  if (code == 0 && Is("profile-slices")) info[3] = 0;
  if (code == 0 && Is("profile-count")) info[4] = 0;
  return code;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfo(void* instance,
                                                 unsigned int constant,
                                                 unsigned int engines,
                                                 unsigned int* info) {
  int (*next)(void*, unsigned int, unsigned int, unsigned int*) = dlsym(RTLD_NEXT, __func__);
  const int code = next(instance, constant, engines, info);
  if (code == 0 && Is("compute-slices")) info[1] = 0;
  return code;
}
