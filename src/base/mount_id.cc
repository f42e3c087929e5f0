#include "base/mount_id.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::base {
namespace {

// "mnt_id:\t29" of /proc/self/fdinfo, which has it since 3.15.
std::optional<std::uint64_t> FromProc(int fd) {
  const UniqueFd file(
      open(fmt::format("/proc/self/fdinfo/{}", fd).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct statfs about = {};
  if (!file.valid() || fstatfs(file.get(), &about) != 0 || about.f_type != PROC_SUPER_MAGIC)
    return std::nullopt;
  std::array<char, 4096> text;
  const ssize_t length = read(file.get(), text.data(), text.size());
  if (length <= 0) return std::nullopt;
  for (const std::string_view line : SplitLines({text.data(), static_cast<std::size_t>(length)})) {
    if (const auto number = WithoutPrefix(line, "mnt_id:")) return ParseUnsigned(Trim(*number));
  }
  return std::nullopt;
}

}  // namespace

Result<std::uint64_t> MountIdOf(int fd) {
  struct statx about = {};
  if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &about) == 0 &&
      (about.stx_mask & STATX_MNT_ID) != 0)
    return std::uint64_t{about.stx_mnt_id};
  if (const auto id = FromProc(fd)) return *id;
  return MakeError(ErrorCode::kUnavailable, "which mount a file is on cannot be told")
      .WithHint("mount -t proc proc /proc");
}

}  // namespace partita::base
