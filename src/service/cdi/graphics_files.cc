#include "service/cdi/graphics_files.h"

#include <set>
#include <string>
#include <utility>

#include "base/files.h"

namespace partita::service::cdi {

namespace {

using partita::cdi::DriverFile;
using partita::cdi::FileKind;

// Those of the driver's version come with the version added. The platform libraries have versions
// of their own.
constexpr std::string_view kPlatformLibraries[] = {
    "libnvidia-egl-gbm.so.*.*", "libnvidia-egl-wayland.so.*.*", "libnvidia-egl-wayland2.so.*.*",
    "libnvidia-egl-xcb.so.*.*", "libnvidia-egl-xlib.so.*.*",
};
constexpr std::string_view kAllocator = "libnvidia-allocator.so.";
constexpr std::string_view kVulkanProducer = "libnvidia-vulkan-producer.so.";
constexpr std::string_view kGlxServer = "libglxserver_nvidia.so.";

constexpr std::string_view kXorgFolders[] = {
    "/usr/lib/xorg",
    "/usr/lib64/xorg",
    "/usr/X11R6/lib",
    "/usr/X11R6/lib64",
};
constexpr std::string_view kModuleFolders[] = {
    "modules/drivers",
    "modules/extensions",
    "modules/updates/drivers",
    "modules/updates/extensions",
};

// Containers find these at fixed places, wherever the host has them.
constexpr std::string_view kShareFiles[] = {
    "glvnd/egl_vendor.d/10_nvidia.json",
    "egl/egl_external_platform.d/15_nvidia_gbm.json",
    "egl/egl_external_platform.d/10_nvidia_wayland.json",
    "egl/egl_external_platform.d/09_nvidia_wayland2.json",
    "egl/egl_external_platform.d/20_nvidia_xcb.json",
    "egl/egl_external_platform.d/20_nvidia_xlib.json",
    "nvidia/nvoptix.bin",
    "X11/xorg.conf.d/10-nvidia.conf",
    "X11/xorg.conf.d/nvidia-drm-outputclass.conf",
};
constexpr std::string_view kEtcFiles[] = {"OpenCL/vendors/nvidia.icd"};
constexpr std::string_view kVulkanFiles[] = {
    "vulkan/icd.d/nvidia_icd.json",
    "vulkan/icd.d/nvidia_layers.json",
    "vulkan/implicit_layer.d/nvidia_layers.json",
#if defined(__aarch64__)
    "vulkan/icd.d/nvidia_icd.aarch64.json",
#else
    "vulkan/icd.d/nvidia_icd.x86_64.json",
#endif
};

DriverFile Make(const DriverRoot& driver, const std::string& path, FileKind kind) {
  return {.host_path = driver.MountSource(path),
          .container_path = path,
          .kind = kind,
          .of = {partita::cdi::Capability::kGraphics, partita::cdi::Capability::kDisplay},
          .soname = "",
          .elf32 = false};
}

void AddLibraries(const DriverRoot& driver, const Search& search, DriverFiles& files) {
  const auto add = [&](std::string_view pattern) {
    for (const std::string& path : FindLibraries(driver, search, pattern)) {
      files.graphics.push_back(Make(driver, path, FileKind::kLibrary));
    }
  };
  for (const std::string_view pattern : kPlatformLibraries) add(pattern);
  // The allocator is mounted with the driver's own libraries; here it is only what a link leads to.
  const std::string allocator = std::string(kAllocator) + files.version;
  for (const std::string& path : FindLibraries(driver, search, allocator)) {
    files.graphics_links.push_back(
        {"../libnvidia-allocator.so.1", base::JoinPath(FolderOf(path), "gbm/nvidia-drm_gbm.so")});
  }
  const std::string producer = std::string(kVulkanProducer) + files.version;
  for (const std::string& path : FindLibraries(driver, search, producer)) {
    files.graphics.push_back(Make(driver, path, FileKind::kLibrary));
    files.graphics_links.push_back(
        {producer, base::JoinPath(FolderOf(path), "libnvidia-vulkan-producer.so")});
  }
}

std::vector<std::string> XorgFolders(const DriverFiles& files) {
  std::vector<std::string> folders;
  const auto add_modules = [&](const std::string& above) {
    for (const std::string_view modules : kModuleFolders)
      folders.push_back(base::JoinPath(above, modules));
  };
  for (const std::string& libraries : files.library_directories) {
    folders.push_back(base::JoinPath(libraries, "nvidia/xorg"));
    add_modules(base::JoinPath(libraries, "xorg"));
    for (const std::string_view above : kXorgFolders) add_modules(std::string(above));
  }
  return folders;
}

void AddXorg(const DriverRoot& driver, DriverFiles& files) {
  const std::string glx = std::string(kGlxServer) + files.version;
  for (const std::string& name : {std::string("nvidia_drv.so"), glx}) {
    for (const std::string& folder : XorgFolders(files)) {
      const std::string path = base::JoinPath(folder, name);
      if (!driver.IsFile(path)) continue;
      files.graphics.push_back(Make(driver, path, FileKind::kXorg));
      if (name == glx)
        files.graphics_links.push_back({glx, base::JoinPath(folder, "libglxserver_nvidia.so")});
      break;
    }
  }
}

template <std::size_t N>
void AddConfigs(const DriverRoot& driver,
                const Search& search,
                const std::string_view (&names)[N],
                std::string_view container_folder,
                DriverFiles& files) {
  std::set<std::string> mounted;  // a file that is found for two names is mounted once
  for (const std::string_view name : names) {
    std::optional<std::string> path = FindConfig(driver, search, name);
    // Some drivers, such as GKE's, have them at the top of their root.
    const std::string at_root = base::JoinPath("/", name);
    if (!path && name.starts_with("vulkan/") && driver.IsFile(at_root)) path = at_root;
    if (!path || !mounted.insert(*path).second) continue;
    DriverFile file = Make(driver, *path, FileKind::kConfig);
    file.container_path = base::JoinPath(container_folder, name);
    files.graphics.push_back(std::move(file));
  }
}

}  // namespace

void AddGraphicsFiles(const DriverRoot& driver, const Search& search, DriverFiles& files) {
  AddLibraries(driver, search, files);
  AddXorg(driver, files);
  if (const auto path = FindExecutable(driver, search, "nvidia-xconfig"))
    files.graphics.push_back(Make(driver, *path, FileKind::kBinary));
  AddConfigs(driver, search, kShareFiles, "/usr/share", files);
  AddConfigs(driver, search, kEtcFiles, "/etc", files);
  AddConfigs(driver, search, kVulkanFiles, "/etc", files);
}

}  // namespace partita::service::cdi
