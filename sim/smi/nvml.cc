#include "sim/smi/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>

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

}  // namespace

bool LoadNvml(Nvml* nvml) {
  void* library = OpenLibrary();
  if (library == nullptr) return false;
#define PARTITA_SMI_RESOLVE(name)                                          \
  nvml->name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (nvml->name == nullptr) return false;
  PARTITA_SMI_CALLS(PARTITA_SMI_RESOLVE)
#undef PARTITA_SMI_RESOLVE
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
