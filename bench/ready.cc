// How long a service takes from its start until it says that it is ready, so many times; one line
// each: nanoseconds. Then "pss KIBIBYTES", its memory after a few seconds of rest.
//
//   bench-ready RUNS -- COMMAND…
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

long ReadPss(pid_t pid) {
  std::ifstream rollup("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("Pss:")) return std::strtol(line.c_str() + 4, nullptr, 10);
  }
  return -1;
}

// systemd's side: a datagram that says so.
bool AwaitReady(int listener) {
  for (;;) {
    char message[4096];
    const ssize_t size = recv(listener, message, sizeof(message) - 1, 0);
    if (size <= 0) return false;
    message[size] = '\0';
    if (std::strstr(message, "READY=1") != nullptr) return true;
  }
}

pid_t Start(char** command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, command[0], &actions, nullptr, command, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

bool Measure(int listener, char** command, bool last) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t pid = Start(command);
  if (pid < 0 || !AwaitReady(listener)) return false;
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - start;
  std::printf("%lld\n", static_cast<long long>(elapsed.count()));
  if (last) {
    sleep(3);
    std::printf("pss %ld\n", ReadPss(pid));
  }
  kill(pid, SIGTERM);
  int status = 0;
  return waitpid(pid, &status, 0) == pid;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || std::strcmp(argv[2], "--") != 0) {
    std::fprintf(stderr, "usage: bench-ready RUNS -- COMMAND…\n");
    return 2;
  }
  const int listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/bench-ready-%d", getpid());
  const timeval patience{60, 0};
  setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return 1;
  setenv("NOTIFY_SOCKET", address.sun_path, 1);
  bool well = true;
  for (long run = std::strtol(argv[1], nullptr, 10); run > 0 && well; --run)
    well = Measure(listener, argv + 3, run == 1);
  unlink(address.sun_path);
  if (!well) std::fprintf(stderr, "bench-ready: %s failed\n", argv[3]);
  return well ? 0 : 1;
}
