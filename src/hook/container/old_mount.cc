#include "hook/container/old_mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::hook {
namespace {

// `own` was seen to be procfs, and fchdir makes the name relative to it: what lies over /proc by
// now does not matter.
template <typename Call>
int WithName(int own, int fd, Call call) {
  const base::UniqueFd before(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!before.valid() || fchdir(own) != 0) return -1;
  const int result = call(fmt::format("{}", fd).c_str());
  const int reason = errno;
  if (fchdir(before.get()) != 0) return -1;
  errno = reason;
  return result;
}

}  // namespace

const std::uint64_t kPrivate = MS_PRIVATE;

int MakeOwnPrivate(int own, int fd) {
  return WithName(
      own, fd, [](const char* name) { return mount(nullptr, name, nullptr, MS_PRIVATE, nullptr); });
}

int RemountOwn(int own, int fd, bool read_only, bool no_exec, bool no_devices) {
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID;
  if (read_only) flags |= MS_RDONLY;
  if (no_exec) flags |= MS_NOEXEC;
  if (no_devices) flags |= MS_NODEV;
  return WithName(
      own, fd, [flags](const char* name) { return mount(nullptr, name, nullptr, flags, nullptr); });
}

int UnmountOwn(int own, int fd) {
  return WithName(own, fd, [](const char* name) { return umount2(name, MNT_DETACH); });
}

int MakeAllPrivate() { return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr); }

int ChangeRootToHere() {
  const base::UniqueFd old_root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!old_root.valid()) return -1;
  if (syscall(SYS_pivot_root, ".", ".") == 0) {
    if (fchdir(old_root.get()) != 0 || umount2(".", MNT_DETACH) != 0) return -1;
    return chdir("/");
  }
  if (errno != EINVAL) return -1;
  if (mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 || chroot(".") != 0) return -1;
  return chdir("/");
}

std::string Unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code =
        text[i] == '\\' ? base::ParseUnsigned(text.substr(i + 1, 3), 8) : std::nullopt;
    if (code && *code < 256 && i + 3 < text.size()) {
      plain += static_cast<char>(*code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace partita::hook
