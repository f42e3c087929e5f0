// nvidia-cuda-mps-control: with -d or -f the daemon, else commands from standard input for it.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "sim/cuda/mps_wire.h"
#include "sim/mps/daemon.h"

namespace partita::sim::mps {
namespace {

constexpr char kUsage[] =
    "nvidia-cuda-mps-control of a simulated node\n"
    "  -d   start the control daemon in the background\n"
    "  -f   start it in the foreground\n"
    "  -h   this text\n"
    "Without an option it reads commands from standard input, one a line.\n";

std::string LogDirectory(bool* is_default) {
  const char* wanted = std::getenv("CUDA_MPS_LOG_DIRECTORY");
  *is_default = wanted == nullptr || wanted[0] == '\0';
  return *is_default ? "/var/log/nvidia-mps" : wanted;
}

// What a daemon begins with. CUDA_MPS_PINNED_DEVICE_MEM_LIMIT is nothing to a daemon or its
// clients: limits of memory come from commands and the clients' own variables
// (docs/hardware/h200/mps-facts.txt).
Settings FirstSettings() {
  Settings settings;
  const char* percentage = std::getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  if (percentage != nullptr) settings.SetPercentage(percentage);
  return settings;
}

// The daemon itself. `ready` is told once it takes connections.
int BecomeDaemon(bool foreground, int ready) {
  const std::string directory = PipeDirectory();
  bool default_log = false;
  const std::string logs = LogDirectory(&default_log);
  bool loggable = PrepareLogDirectory(logs, default_log);
  const char* own = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const bool usable = PreparePipeDirectory(directory, own == nullptr || own[0] == '\0');
  // A daemon that is there already finds this in its log.
  if (usable) PipeLog(directory).Say("Other", getpid(), "Using log directory: " + logs);
  if (!loggable) {
    fmt::print("Warning: Failed writing log files to directory [{}]. No logs will be available.\n",
               logs);
  }
  if (!usable) {
    fmt::print("Cannot access CUDA_MPS_PIPE_DIRECTORY={}\n", directory);
    return 1;
  }
  auto files = OpenPipeFiles(directory);
  if (!files.ok()) {
    if (files.error().code() == base::ErrorCode::kConflict) {
      fmt::print("An instance of this daemon is already running\n");
    } else {
      fmt::print("{}\n", files.error().message());
    }
    return 1;
  }
  std::fflush(stdout);
  std::signal(SIGPIPE, SIG_IGN);
  Daemon daemon(*std::move(files),
                foreground ? DaemonLog::ToStandardOutput() : DaemonLog::ToFiles(logs, &loggable),
                directory, FirstSettings());
  if (ready >= 0) {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
    if (chdir("/") != 0) return 1;
    const char byte = 0;
    if (write(ready, &byte, 1) != 1) return 1;
    close(ready);
  }
  daemon.Run();
  return 0;
}

// Returns when the daemon takes connections, or with the status that it ended with.
int StartInBackground() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return 1;
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    close(ends[0]);
    setsid();
    const int status = BecomeDaemon(false, ends[1]);
    std::fflush(stdout);
    _exit(status);
  }
  close(ends[1]);
  char byte = 0;
  if (read(ends[0], &byte, 1) == 1) return 0;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int CannotSend() {
  fmt::print(stderr, "Cannot send command to MPS control daemon process\n");
  return 1;
}

// The owner's socket where it can be had: a directory of another user has only the other one.
int ConnectToControl() {
  const int fd = Connect(PipeDirectory(), "control_privileged");
  return fd >= 0 ? fd : Connect(PipeDirectory(), "control");
}

int SendCommands() {
  const base::UniqueFd daemon(ConnectToControl());
  if (!daemon.valid()) {
    fmt::print(stderr, "Cannot find MPS control daemon process\n");
    return 1;
  }
  static TextFrame frame;
  for (std::string line; std::getline(std::cin, line);) {
    frame.kind = Kind::kCommand;
    const std::size_t size = std::min(line.size(), kMostText);
    line.copy(frame.text, size);
    if (Send(daemon.get(), &frame, offsetof(TextFrame, text) + size) != 0) return CannotSend();
    const long got = Receive(daemon.get(), &frame, sizeof frame, 0);
    const bool quits = ParseCommand(line).verb == Verb::kQuit;
    if (got <= 0) return quits ? 0 : CannotSend();
    const std::size_t length = static_cast<std::size_t>(got) - offsetof(TextFrame, text);
    std::fwrite(frame.text, 1, length, stdout);
    std::fflush(stdout);
  }
  return 0;
}

int Run(int count, char** words) {
  if (count < 2) return SendCommands();
  const std::string_view option = words[1];
  if (option == "-d" || option == "--daemon") return StartInBackground();
  if (option == "-f" || option == "--forground") return BecomeDaemon(true, -1);
  if (option != "-h" && option != "--help") fmt::print("Unrecognized option {}\n", option);
  std::fputs(kUsage, stdout);
  return 0;
}

}  // namespace
}  // namespace partita::sim::mps

int main(int count, char** words) { return partita::sim::mps::Run(count, words); }
