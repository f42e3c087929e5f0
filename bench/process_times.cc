// How long a program takes from its start to its end, so many times; one line each: nanoseconds,
// and those of processor time. Then "pss KIBIBYTES", its memory as it was when it ended, -1 where
// /proc does not show it, and "library KIBIBYTES", what the driver's library has of it. What the
// program prints is thrown away.
//
//   bench-times RUNS -- COMMAND…
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

long long Nanoseconds(const timeval& time) {
  return (time.tv_sec * 1000000LL + time.tv_usec) * 1000;
}

// False when the program failed.
bool MeasureOnce(char** command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  int status = -1;
  rusage usage{};
  const auto start = std::chrono::steady_clock::now();
  const int error = posix_spawnp(&pid, command[0], &actions, nullptr, command, environ);
  if (error == 0) wait4(pid, &status, 0, &usage);
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - start;
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return false;
  std::printf("%lld %lld\n", static_cast<long long>(elapsed.count()),
              Nanoseconds(usage.ru_utime) + Nanoseconds(usage.ru_stime));
  return true;
}

struct Pss {
  long all = -1, library = 0;
};

Pss ReadPss(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/smaps");
  Pss pss;
  bool of_library = false;
  for (std::string line; std::getline(maps, line);) {
    // The head of a mapping begins with its address.
    if ((line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f'))
      of_library = line.find("libnvidia-ml") != std::string::npos;
    if (!line.starts_with("Pss:")) continue;
    const long kib = std::strtol(line.c_str() + 4, nullptr, 10);
    pss.all = std::max(pss.all, 0L) + kib;
    if (of_library) pss.library += kib;
  }
  return pss;
}

// A traced process stops when it is about to end, with its memory still in place.
Pss MeasureMemory(char** command) {
  const pid_t pid = fork();
  if (pid < 0) return {};
  if (pid == 0) {
    const int quiet = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(quiet, fd);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execvp(command[0], command);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFSTOPPED(status)) return {};
  ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
  Pss pss;
  int signal = 0;
  while (ptrace(PTRACE_CONT, pid, nullptr, signal) == 0 && waitpid(pid, &status, 0) == pid &&
         WIFSTOPPED(status)) {
    const bool ending = status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXIT << 8));
    if (ending) pss = ReadPss(pid);
    signal = ending || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
  }
  return pss;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || std::strcmp(argv[2], "--") != 0) {
    std::fprintf(stderr, "usage: bench-times RUNS -- COMMAND…\n");
    return 2;
  }
  for (long run = std::strtol(argv[1], nullptr, 10); run > 0; --run) {
    if (MeasureOnce(argv + 3)) continue;
    std::fprintf(stderr, "bench-times: %s failed\n", argv[3]);
    return 1;
  }
  const Pss pss = MeasureMemory(argv + 3);
  std::printf("pss %ld\nlibrary %ld\n", pss.all, pss.library);
  return 0;
}
