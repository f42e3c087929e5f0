// What a program finds of the GPUs where it runs, and whether CUDA's driver interface works there:
// libcuda.so.1 as the loader finds it, a context on each device, memory that is filled on the GPU
// and read back.
//
// Built and run by hand on hardware (docs/hardware/README.md); it names libcuda's functions itself,
// so that no header of CUDA's is needed.

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int ByName(const struct dirent** a, const struct dirent** b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void ShowNodes(const char* directory, const char* prefix) {
  struct dirent** found = NULL;
  const int count = scandir(directory, &found, NULL, ByName);
  for (int i = 0; i < count; ++i) {
    char path[512];
    struct stat facts;
    if (strncmp(found[i]->d_name, prefix, strlen(prefix)) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", directory, found[i]->d_name);
    // Not the directory's word for it: a node that is mounted lies over a plain file.
    if (stat(path, &facts) != 0 || !S_ISCHR(facts.st_mode)) continue;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    printf("%s: %s\n", path, fd >= 0 ? "opens" : strerror(errno));
    if (fd >= 0) close(fd);
  }
}

static void ShowFolder(const char* directory) {
  struct dirent** found = NULL;
  const int count = scandir(directory, &found, NULL, ByName);
  printf("%s:", directory);
  for (int i = 0; i < count; ++i) {
    if (found[i]->d_name[0] != '.') printf(" %s", found[i]->d_name);
  }
  printf("%s\n", count < 0 ? " absent" : "");
}

static void* Symbol(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "libcuda has no %s\n", name);
    exit(1);
  }
  return symbol;
}

static void Need(const char* what, int code) {
  if (code == 0) return;
  printf("%s: CUDA error %d\n", what, code);
  exit(1);
}

int main(void) {
  ShowNodes("/dev", "nvidia");
  ShowNodes("/dev/nvidia-caps", "nvidia-cap");
  ShowFolder("/proc/driver/nvidia/gpus");
  ShowFolder("/proc/driver/nvidia/capabilities");

  void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
  if (cuda == NULL) {
    printf("libcuda.so.1: %s\n", dlerror());
    return 1;
  }
  int (*init)(unsigned) = (int (*)(unsigned))Symbol(cuda, "cuInit");
  int (*count)(int*) = (int (*)(int*))Symbol(cuda, "cuDeviceGetCount");
  int (*name)(char*, int, int) = (int (*)(char*, int, int))Symbol(cuda, "cuDeviceGetName");
  int (*retain)(void**, int) = (int (*)(void**, int))Symbol(cuda, "cuDevicePrimaryCtxRetain");
  int (*release)(int) = (int (*)(int))Symbol(cuda, "cuDevicePrimaryCtxRelease_v2");
  int (*current)(void*) = (int (*)(void*))Symbol(cuda, "cuCtxSetCurrent");
  int (*allocate)(unsigned long long*, size_t) =
      (int (*)(unsigned long long*, size_t))Symbol(cuda, "cuMemAlloc_v2");
  int (*fill)(unsigned long long, unsigned, size_t) =
      (int (*)(unsigned long long, unsigned, size_t))Symbol(cuda, "cuMemsetD32_v2");
  int (*copy)(void*, unsigned long long, size_t) =
      (int (*)(void*, unsigned long long, size_t))Symbol(cuda, "cuMemcpyDtoH_v2");

  int devices = 0;
  Need("cuInit", init(0));
  Need("cuDeviceGetCount", count(&devices));
  printf("CUDA devices: %d\n", devices);
  for (int device = 0; device < devices; ++device) {
    enum { kWords = 1 << 20 };
    static unsigned words[kWords];
    char label[128] = "";
    void* context = NULL;
    unsigned long long memory = 0;
    Need("cuDeviceGetName", name(label, sizeof label, device));
    Need("cuDevicePrimaryCtxRetain", retain(&context, device));
    Need("cuCtxSetCurrent", current(context));
    Need("cuMemAlloc", allocate(&memory, sizeof words));
    Need("cuMemsetD32", fill(memory, 0x5eed5eed, kWords));
    Need("cuMemcpyDtoH", copy(words, memory, sizeof words));
    for (size_t i = 0; i < kWords; ++i) {
      if (words[i] != 0x5eed5eed) {
        printf("%s: word %zu came back as %x\n", label, i, words[i]);
        return 1;
      }
    }
    printf("%s: 4 MiB filled on the GPU and read back\n", label);
    Need("cuDevicePrimaryCtxRelease", release(device));
  }
  return 0;
}
