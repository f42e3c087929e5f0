// The calls of mount(2), apart: the kernel's header of the new calls and libc's of the old ones do
// not go together. Each works on an open descriptor by its name in /proc/self/fd, which `own` is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace partita::hook {

extern const std::uint64_t kPrivate;  // MS_PRIVATE

// As mount(2) and umount(2) return.
int MakeOwnPrivate(int own, int fd);
int RemountOwn(int own, int fd, bool read_only, bool no_exec, bool no_devices);
int UnmountOwn(int own, int fd);

// Everything in this mount namespace: nothing comes from or goes to another.
int MakeAllPrivate();
// pivot_root(".", ".") and the old root away; where that cannot be (the first root is a rootfs),
// "." is moved over
// "/". Afterwards we are in "/" of the new root. 0, or -1 with errno.
int ChangeRootToHere();

// Octal escapes of mountinfo.
std::string Unescaped(std::string_view text);

}  // namespace partita::hook
