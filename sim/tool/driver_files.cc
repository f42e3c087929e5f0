#include "sim/tool/driver_files.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/files.h"
#include "sim/tool/driver_exports.h"
#include "sim/tool/inert_library.h"

namespace partita::sim::tool {
namespace {

// A program with everything that debuggers and sanitizers want.
constexpr std::size_t kMostProgram = std::size_t{1} << 30;

struct Library {
  std::string_view name;
  std::string_view soname_suffix;  // "1": SONAME <name>.so.1; "": the full version is the SONAME
};

// Driver 580.159.04 as installed on the captured H200 machine, less libnvidia-ml and libcuda.
constexpr std::array kLibraries = {
    Library{"libEGL_nvidia", "0"},
    Library{"libGLESv1_CM_nvidia", "1"},
    Library{"libGLESv2_nvidia", "2"},
    Library{"libGLX_nvidia", "0"},
    Library{"libcudadebugger", "1"},
    Library{"libnvcuvid", "1"},
    Library{"libnvidia-allocator", "1"},
    Library{"libnvidia-cfg", "1"},
    Library{"libnvidia-eglcore", ""},
    Library{"libnvidia-encode", "1"},
    Library{"libnvidia-fbc", "1"},
    Library{"libnvidia-glcore", ""},
    Library{"libnvidia-glsi", ""},
    Library{"libnvidia-glvkspirv", ""},
    Library{"libnvidia-gpucomp", ""},
    Library{"libnvidia-nvvm", "4"},
    Library{"libnvidia-opencl", "1"},
    Library{"libnvidia-opticalflow", "1"},
    Library{"libnvidia-pkcs11-openssl3", ""},
    Library{"libnvidia-ptxjitcompiler", "1"},
    Library{"libnvidia-rtcore", ""},
    Library{"libnvidia-tls", ""},
    Library{"libnvoptix", "1"},
    Library{"libvdpau_nvidia", "1"},
};

constexpr std::array kPlaceholders = {"nvidia-debugdump", "nvidia-persistenced"};
constexpr std::array kFirmware = {"gsp_ga10x.bin", "gsp_tu10x.bin"};

base::Result<void> Link(const std::string& path, const std::string& target) {
  if (symlink(target.c_str(), path.c_str()) != 0) return base::ErrnoError("link " + path);
  return {};
}

// <name>.so -> <name>.so.1 -> <name>.so.<version>
base::Result<void> InstallLibrary(const std::string& directory,
                                  const Library& library,
                                  const std::string& version,
                                  std::string_view bytes) {
  const std::string plain = fmt::format("{}.so", library.name);
  const std::string full = fmt::format("{}.{}", plain, version);
  TRY_VOID(base::WriteFile(directory + "/" + full, bytes, 0755));
  if (library.soname_suffix.empty()) return Link(directory + "/" + plain, full);
  const std::string soname = fmt::format("{}.{}", plain, library.soname_suffix);
  TRY_VOID(Link(directory + "/" + soname, full));
  return Link(directory + "/" + plain, soname);
}

base::Result<void> InstallLibraries(const std::string& directory,
                                    const std::string& version,
                                    const Parts& parts) {
  TRY_VOID(base::MakeDirectories(directory, 0755));
  for (const Library& library : kLibraries) {
    const std::string_view suffix = library.soname_suffix;
    const std::string soname =
        fmt::format("{}.so.{}", library.name, suffix.empty() ? std::string_view(version) : suffix);
    TRY_VOID(InstallLibrary(directory, library, version, InertLibrary(soname)));
  }
  TRY(cuda, base::ReadFile(parts.cuda, kMostProgram));
  TRY_VOID(InstallLibrary(directory, {"libcuda", "1"}, version, cuda));
  TRY(newest, base::ReadFile(parts.nvml, kMostProgram));
  TRY(nvml, WithoutSymbols(std::move(newest), LackingSymbols(version)));
  return InstallLibrary(directory, {"libnvidia-ml", "1"}, version, nvml);
}

base::Result<void> InstallPrograms(const std::string& directory, const Parts& parts) {
  TRY_VOID(base::MakeDirectories(directory, 0755));
  for (const auto& [name, path] : {std::pair("nvidia-smi", &parts.nvidia_smi),
                                   std::pair("nvidia-cuda-mps-control", &parts.mps_control),
                                   std::pair("nvidia-cuda-mps-server", &parts.mps_server)}) {
    TRY(program, base::ReadFile(*path, kMostProgram));
    TRY_VOID(base::WriteFile(directory + "/" + name, program, 0755));
  }
  TRY(placeholder, base::ReadFile(parts.placeholder, kMostProgram));
  for (const char* name : kPlaceholders) {
    TRY_VOID(base::WriteFile(directory + "/" + name, placeholder, 0755));
  }
  return {};
}

base::Result<void> MakeNode(const std::string& path, unsigned major, unsigned minor, mode_t mode) {
  if (mknod(path.c_str(), S_IFCHR | mode, makedev(major, minor)) != 0) {
    const int error = errno;
    auto failure = base::ErrnoError("make the device node " + path, error);
    if (error != EPERM && error != EACCES) return failure;
    return std::move(failure).WithHint("run this as root, where device nodes may be made");
  }
  if (chmod(path.c_str(), mode) != 0) return base::ErrnoError("set the mode of " + path);
  return {};
}

base::Result<std::string> MustExist(std::string path, std::string_view what) {
  if (base::Exists(path)) return path;
  return base::MakeError(base::ErrorCode::kNotFound, "{} is not at {}", what, path)
      .WithHint("partita-sim finds its parts beside its own executable: build or install them all");
}

}  // namespace

base::Result<Parts> FindParts() {
  TRY(self, base::ReadLink("/proc/self/exe"));
  const std::string bin = self.substr(0, self.rfind('/'));
  TRY(nvml, MustExist(bin + "/../lib/libnvidia-ml.so.1", "the simulated NVML library"));
  TRY(cuda, MustExist(bin + "/../lib/libcuda.so.1", "the simulated CUDA library"));
  TRY(smi, MustExist(bin + "/nvidia-smi-sim", "the nvidia-smi look-alike"));
  TRY(control, MustExist(bin + "/nvidia-cuda-mps-control-sim", "the MPS control program"));
  TRY(server, MustExist(bin + "/nvidia-cuda-mps-server-sim", "the MPS server"));
  TRY(placeholder, MustExist(bin + "/partita-sim-placeholder", "the placeholder program"));
  return Parts{nvml, cuda, smi, control, server, placeholder};
}

base::Result<void> MakeDriverFiles(const std::string& root,
                                   const std::string& version,
                                   const Parts& parts) {
  TRY_VOID(InstallLibraries(root + "/usr/lib64", version, parts));
  TRY_VOID(InstallPrograms(root + "/usr/bin", parts));
  const std::string firmware = root + "/lib/firmware/nvidia/" + version;
  TRY_VOID(base::MakeDirectories(firmware, 0755));
  for (const char* name : kFirmware) {
    TRY_VOID(base::WriteFile(firmware + "/" + name, "simulated firmware\n", 0644));
  }
  return {};
}

base::Result<void> MakeDeviceDirectory(const std::string& root) {
  struct DeviceFile {
    const char* name;
    unsigned major, minor;
    mode_t mode;
  };
  static constexpr std::array kNodes = {
      DeviceFile{"null", 1, 3, 0666},       DeviceFile{"zero", 1, 5, 0666},
      DeviceFile{"full", 1, 7, 0666},       DeviceFile{"random", 1, 8, 0666},
      DeviceFile{"urandom", 1, 9, 0666},    DeviceFile{"kmsg", 1, 11, 0644},
      DeviceFile{"tty", 5, 0, 0666},        DeviceFile{"ptmx", 5, 2, 0666},
      DeviceFile{"console", 5, 1, 0600},    DeviceFile{"fuse", 10, 229, 0666},
      DeviceFile{"net/tun", 10, 200, 0666}, DeviceFile{"loop-control", 10, 237, 0660}};
  const std::string dev = root + "/dev";
  for (const char* directory : {"", "/pts", "/shm", "/mqueue", "/net"}) {
    TRY_VOID(base::MakeDirectories(dev + directory, 0755));
  }
  for (const DeviceFile& node : kNodes) {
    TRY_VOID(MakeNode(dev + "/" + node.name, node.major, node.minor, node.mode));
  }
  TRY_VOID(Link(dev + "/fd", "/proc/self/fd"));
  TRY_VOID(Link(dev + "/stdin", "/proc/self/fd/0"));
  TRY_VOID(Link(dev + "/stdout", "/proc/self/fd/1"));
  return Link(dev + "/stderr", "/proc/self/fd/2");
}

}  // namespace partita::sim::tool
