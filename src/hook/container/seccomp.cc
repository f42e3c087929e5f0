#include "hook/container/seccomp.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace partita::hook {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// Newer than the headers of Debian 12.
constexpr std::uint32_t kFchmodat2 = 452;

constexpr std::uint32_t kAllowed[] = {
    // files
    SYS_openat,
    SYS_close,
    SYS_read,
    SYS_pread64,
    SYS_readv,
    SYS_write,
    SYS_writev,
    SYS_pwrite64,
    SYS_lseek,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_getdents64,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_fcntl,
    SYS_ioctl,
    SYS_ftruncate,
    SYS_getcwd,
    SYS_chdir,
    SYS_umask,
    SYS_dup,
    SYS_fadvise64,
    // the cache and the links, each written beside and renamed
    SYS_unlinkat,
    SYS_symlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_fchmod,
    SYS_fchmodat,
    kFchmodat2,
    SYS_mkdirat,
    // memory
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    // the process itself
    SYS_exit,
    SYS_exit_group,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_prlimit64,
    SYS_futex,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_tgkill,
    SYS_uname,
    SYS_getrandom,
    SYS_sysinfo,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    // the time
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
#if defined(__x86_64__)
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_rename,
    SYS_unlink,
    SYS_symlink,
    SYS_chmod,
    SYS_mkdir,
    SYS_arch_prctl,
    SYS_time,
#endif
};

// Said to be done. Nobody was promised that a container's cache is on the disk, and the disk takes
// longer than all the rest.
constexpr std::uint32_t kLeftOut[] = {SYS_fsync, SYS_fdatasync};

sock_filter LoadWord(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter Return(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
// Goes on where it is equal, else over `skip` more.
sock_filter Unless(std::uint32_t value, std::uint8_t skip) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip);
}

// The lower half of a call's argument, little-endian on both architectures.
std::size_t Argument(std::size_t index) {
  return offsetof(seccomp_data, args) + index * sizeof(std::uint64_t);
}

}  // namespace

std::vector<sock_filter> LdconfigFilter(int program) {
  constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  // Calls of another architecture have other numbers. Those of x32 are larger than any here.
  std::vector<sock_filter> filter{LoadWord(offsetof(seccomp_data, arch)), Unless(kArchitecture, 1),
                                  BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), Return(kRefuse),
                                  LoadWord(offsetof(seccomp_data, nr))};
  for (const std::uint32_t number : kAllowed) {
    filter.push_back(Unless(number, 1));
    filter.push_back(Return(SECCOMP_RET_ALLOW));
  }
  for (const std::uint32_t number : kLeftOut) {
    filter.push_back(Unless(number, 1));
    filter.push_back(Return(SECCOMP_RET_ERRNO));
  }
  const sock_filter execute[] = {Unless(SYS_execveat, 5),
                                 LoadWord(Argument(0)),
                                 Unless(static_cast<std::uint32_t>(program), 3),
                                 LoadWord(Argument(4)),
                                 Unless(AT_EMPTY_PATH, 1),
                                 Return(SECCOMP_RET_ALLOW),
                                 Return(kRefuse)};
  filter.insert(filter.end(), std::begin(execute), std::end(execute));
  return filter;
}

int InstallFilter(const std::vector<sock_filter>& filter) {
  std::vector<sock_filter> copy = filter;
  const sock_fprog program{static_cast<unsigned short>(copy.size()), copy.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

}  // namespace partita::hook
