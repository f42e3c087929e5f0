#include "hw/device_nodes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::hw {
namespace {

void List(const std::string& root,
          const std::string& directory,
          std::string_view prefix,
          std::vector<model::DeviceNode>& nodes) {
  const std::string below_root = base::JoinPath(root, directory);
  const base::Result<std::vector<std::string>> names = base::ListDirectory(below_root);
  const base::UniqueFd folder(open(below_root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!names.ok() || !folder.valid()) return;
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    struct stat status {};
    if (fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISCHR(status.st_mode)) {
      continue;
    }
    nodes.push_back({.path = base::JoinPath(directory, name),
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
