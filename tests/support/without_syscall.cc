// Runs a program where some system calls fail: `partita_without_syscall openat2,bpf PROGRAM…` is a
// kernel that has not got them (ENOSYS), `open_tree=EPERM` one that refuses.
// PARTITA_WITHOUT_SYSCALL tells the program.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace {

struct Call {
  std::string_view name;
  std::uint32_t number;
};
constexpr Call kCalls[] = {
    {"openat2", SYS_openat2},
    {"open_tree", SYS_open_tree},
    {"move_mount", SYS_move_mount},
    {"fsopen", SYS_fsopen},
    {"bpf", SYS_bpf},
    {"mount", SYS_mount},
    {"mount_setattr", SYS_mount_setattr},
    {"statx", SYS_statx},
    {"unshare", SYS_unshare},
    {"pivot_root", SYS_pivot_root},
    {"close_range", SYS_close_range},
};

bool AddCall(std::string_view word, std::vector<sock_filter>& filter) {
  const std::size_t equals = word.find('=');
  const int error = equals == std::string_view::npos ? ENOSYS : EPERM;
  if (equals != std::string_view::npos && word.substr(equals + 1) != "EPERM") return false;
  for (const Call& call : kCalls) {
    if (call.name != word.substr(0, equals)) continue;
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.number, 0, 1));
    filter.push_back(
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)));
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: partita_without_syscall CALL[=EPERM][,CALL…] PROGRAM [ARGUMENT…]\n", stderr);
    return 2;
  }
  std::vector<sock_filter> filter{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offsetof(seccomp_data, nr)))};
  for (const std::string_view word : partita::base::Split(argv[1], ',')) {
    if (!AddCall(word, filter)) {
      std::fprintf(stderr, "partita_without_syscall: no call %s\n", std::string(word).c_str());
      return 2;
    }
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("partita_without_syscall: seccomp");
    return 2;
  }
  setenv("PARTITA_WITHOUT_SYSCALL", argv[1], 1);
  execvp(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
