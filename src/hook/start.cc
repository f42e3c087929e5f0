#include "hook/start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace partita::hook {
namespace {

bool IsTrue(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return false;
  constexpr std::string_view kTrue[] = {"1", "t", "T", "true", "TRUE", "True"};
  return std::find(std::begin(kTrue), std::end(kTrue), value) != std::end(kTrue);
}

void CloseInherited() {
  if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
  // Before Linux 5.9. More descriptors than this nobody hands to a hook.
  constexpr rlim_t kMost = 65536;
  rlimit limit = {};
  const rlim_t most =
      getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(limit.rlim_cur, kMost) : kMost;
  for (int fd = 3; fd < static_cast<int>(most); ++fd) close(fd);
}

// A file that is opened later must not become standard output.
void FillStandardDescriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is this one.
    const int opened = open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
    if (opened >= 0 && opened != fd) close(opened);
  }
}

}  // namespace

Wishes StartClean() {
  const Wishes wishes{IsTrue("NVIDIA_CTK_DEBUG") || IsTrue("NVIDIA_CDI_DEBUG"),
                      IsTrue("NVIDIA_CTK_QUIET") || IsTrue("NVIDIA_CDI_QUIET")};
  CloseInherited();
  FillStandardDescriptors();
  clearenv();
  if (chdir("/") != 0) std::abort();
  umask(022);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  for (const int each : {SIGPIPE, SIGXFSZ}) signal(each, SIG_IGN);
  return wishes;
}

// Soft limits: ldconfig maps libraries of gigabytes, and gets others.
void LimitWork() {
  struct Row {
    int resource;
    rlim_t most;
  };
  constexpr Row kLimits[] = {
      {RLIMIT_CPU, 10},  // a hook needs milliseconds
// A sanitizer reserves terabytes.
#ifndef PARTITA_SANITIZED
      {RLIMIT_AS, rlim_t{1} << 30},  // a hook needs a few megabytes, and a copy of ldconfig
#endif
  };
  for (const Row& row : kLimits) {
    rlimit limit = {};
    if (getrlimit(row.resource, &limit) != 0) std::abort();
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= row.most) continue;
    limit.rlim_cur = row.most;
    if (setrlimit(row.resource, &limit) != 0) std::abort();
  }
}

}  // namespace partita::hook
