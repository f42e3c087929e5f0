#include "hook/container/cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "hook/container/old_mount.h"

namespace partita::hook {
namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::MakeError;
using base::UniqueFd;

bool Has(std::string_view list, std::string_view one) {
  const std::vector<std::string_view> words = base::Split(list, ',');
  return std::find(words.begin(), words.end(), one) != words.end();
}

// "7:devices:/docker/c" has three parts; the path may have colons of its own.
struct Line {
  std::string_view number, controllers, path;
};
std::optional<Line> ParseLine(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  return Line{text.substr(0, first), text.substr(first + 1, second - first - 1),
              text.substr(second + 1)};
}

// The process's path in the hierarchy of devices, of version 1 where it has one.
std::optional<std::string> PathOf(std::string_view cgroup, int version) {
  for (const std::string_view text : base::SplitLines(cgroup)) {
    const std::optional<Line> line = ParseLine(text);
    if (!line) continue;
    const bool wanted = version == 1 ? Has(line->controllers, "devices")
                                     : line->number == "0" && line->controllers.empty();
    if (wanted) return std::string(line->path);
  }
  return std::nullopt;
}

struct Mount {
  std::string root, point;
};
std::optional<Mount> MountOf(std::string_view mountinfo, int version) {
  for (const std::string_view text : base::SplitLines(mountinfo)) {
    const std::vector<std::string_view> words = base::SplitWords(text);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 10 || words.end() - dash < 4) continue;
    const bool wanted =
        version == 1 ? dash[1] == "cgroup" && Has(dash[3], "devices") : dash[1] == "cgroup2";
    if (wanted) return Mount{Unescaped(words[3]), Unescaped(words[4])};
  }
  return std::nullopt;
}

bool HasParent(std::string_view path) {
  const std::vector<std::string_view> names = base::Split(path, '/');
  return std::find(names.begin(), names.end(), "..") != names.end();
}

base::Result<std::string> Below(const Mount& mount, const std::string& path) {
  const base::Error outside = MakeError(
      ErrorCode::kInvalid, "the container's cgroup {} is not below {}, which is mounted at {}",
      path, mount.root, mount.point);
  if (!path.starts_with('/') || HasParent(path) || HasParent(mount.root)) return outside;
  if (mount.root == "/") return base::JoinPath(mount.point, path);
  const auto rest = base::WithoutPrefix(path, mount.root);
  if (!rest || (!rest->empty() && !rest->starts_with('/'))) return outside;
  return base::JoinPath(mount.point, *rest);
}

// The kernel takes one rule a write.
base::Result<void> AllowByFile(const UniqueFd& directory,
                               const std::string& called,
                               std::span<const DeviceRule> rules) {
  const UniqueFd file(openat(directory.get(), "devices.allow", O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return ErrnoError(fmt::format("open {}/devices.allow", called));
  for (const DeviceRule& rule : rules) {
    const std::string text = ToString(rule);
    if (write(file.get(), text.data(), text.size()) < 0)
      return ErrnoError(fmt::format("write \"{}\" to {}/devices.allow", text, called));
  }
  return {};
}

}  // namespace

base::Result<DeviceCgroup> FindDeviceCgroup(std::string_view mountinfo, std::string_view cgroup) {
  for (const int version : {1, 2}) {
    const std::optional<std::string> path = PathOf(cgroup, version);
    const std::optional<Mount> mount = MountOf(mountinfo, version);
    if (!path || !mount) continue;
    TRY(directory, Below(*mount, *path));
    return DeviceCgroup{version, std::move(directory)};
  }
  return MakeError(ErrorCode::kNotFound,
                   "no cgroup hierarchy that decides about devices is mounted");
}

base::Result<void> AllowDevices(std::int64_t pid, std::span<const DeviceRule> rules) {
  if (rules.empty()) return {};
  TRY(mountinfo, base::ReadFile("/proc/self/mountinfo"));
  TRY(lines, base::ReadFile(fmt::format("/proc/{}/cgroup", pid)));
  TRY(cgroup, FindDeviceCgroup(mountinfo, lines));
  const UniqueFd directory(
      open(cgroup.directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return ErrnoError(fmt::format("open {}", cgroup.directory));
  if (cgroup.version == 1) return AllowByFile(directory, cgroup.directory, rules);
  TRY_VOID(AllowByFilter(directory.get(), rules), "{}", cgroup.directory);
  return {};
}

}  // namespace partita::hook
