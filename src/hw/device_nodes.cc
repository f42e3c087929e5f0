#include "hw/device_nodes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace partita::hw {
namespace {

void List(const std::string& root,
          const std::string& directory,
          std::string_view prefix,
          std::vector<model::DeviceNode>& nodes) {
  const base::Result<std::vector<std::string>> names =
      base::ListDirectory(base::JoinPath(root, directory));
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    const std::string path = base::JoinPath(directory, name);
    struct stat status {};
    if (lstat(base::JoinPath(root, path).c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) {
      continue;
    }
    nodes.push_back({.path = path,
                     .major = major(status.st_rdev),
                     .minor = minor(status.st_rdev),
                     .mode = status.st_mode & 07777U});
  }
}

// By the beginning of the path, the more particular first. The first entry of /proc/devices was
// called nvidia-frontend before driver 550.
struct Owner {
  std::string_view prefix;
  std::array<std::string_view, 2> names;
};
constexpr std::array kOwners = {
    Owner{"/dev/nvidia-caps/", {"nvidia-caps", ""}},
    Owner{"/dev/nvidia-uvm", {"nvidia-uvm", ""}},
    Owner{"/dev/nvidia-nvswitch", {"nvidia-nvswitch", ""}},
    Owner{"/dev/nvidia-nvlink", {"nvidia-nvlink", ""}},
    Owner{"/dev/nvidia", {"nvidia", "nvidia-frontend"}},
};

}  // namespace

std::vector<model::DeviceNode> ListDeviceNodes(const std::string& root) {
  std::vector<model::DeviceNode> nodes;
  List(root, "/dev", "nvidia", nodes);
  List(root, "/dev/nvidia-caps", "nvidia-cap", nodes);
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return nodes;
}

std::vector<model::Problem> CheckMajors(const std::vector<model::DeviceNode>& nodes,
                                        const procfs::Majors& majors) {
  std::vector<model::Problem> problems;
  for (const model::DeviceNode& node : nodes) {
    const auto* owner = std::find_if(kOwners.begin(), kOwners.end(), [&](const Owner& each) {
      return std::string_view(node.path).starts_with(each.prefix);
    });
    if (owner == kOwners.end()) continue;
    std::optional<std::uint32_t> registered;
    bool right = false;
    for (const std::string_view name : owner->names) {
      const auto [first, last] = majors.equal_range(std::string(name));
      for (auto entry = first; entry != last; ++entry) {
        registered = entry->second;
        right = right || entry->second == node.major;
      }
    }
    if (right || !registered) continue;
    problems.push_back(
        {"", base::MakeError(base::ErrorCode::kConflict,
                             "{} has major {}, but the driver registered {}", node.path, node.major,
                             *registered)
                 .WithHint("remove the node; the driver's tools make it anew (nvidia-modprobe)")});
  }
  return problems;
}

}  // namespace partita::hw
