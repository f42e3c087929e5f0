#include "sim/tool/dmi.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/core.h>

#include "base/files.h"
#include "sim/tool/mounts.h"

namespace partita::sim::tool {
namespace {

// As the kernel writes names into a modalias: without what a file-name pattern could take for more.
std::string Plain(std::string_view name) {
  std::string plain;
  std::ranges::copy_if(name, std::back_inserter(plain),
                       [](char c) { return c > ' ' && c < 127 && c != ':'; });
  return plain;
}

}  // namespace

base::Result<void> MakeDmi(const std::string& root, const load::LoadedNode& node) {
  if (!node.dmi) return {};
  const std::string device = root + "/sys/devices/virtual/dmi/id",
                    class_folder = root + "/sys/class/dmi";
  TRY_VOID(base::MakeDirectories(device, 0755));
  TRY_VOID(base::MakeDirectories(class_folder, 0755));
  const std::string modalias =
      fmt::format("dmi:svn{}:pn{}:", Plain(node.dmi->sys_vendor), Plain(node.dmi->product_name));
  TRY_VOID(base::WriteFile(device + "/uevent", fmt::format("MODALIAS={}\n", modalias), 0644));
  TRY_VOID(base::WriteFile(device + "/modalias", modalias + "\n", 0444));
  TRY_VOID(base::WriteFile(device + "/product_name", node.dmi->product_name + "\n", 0444));
  if (!node.dmi->sys_vendor.empty()) {
    TRY_VOID(base::WriteFile(device + "/sys_vendor", node.dmi->sys_vendor + "\n", 0444));
  }
  const std::string link = class_folder + "/id";
  if (symlink("../../devices/virtual/dmi/id", link.c_str()) != 0) {
    return base::ErrnoError("link " + link);
  }
  return {};
}

base::Result<void> HideHostDmi(const std::string& root) {
  if (base::Exists(root + "/sys/class/dmi")) return {};
  for (const char* folder : {"/sys/class/dmi", "/sys/devices/virtual/dmi"}) {
    if (base::Exists(folder)) TRY_VOID(MountEmpty(folder));
  }
  return {};
}

}  // namespace partita::sim::tool
