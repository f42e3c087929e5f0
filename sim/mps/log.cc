#include "sim/mps/log.h"

#include <fcntl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <utility>

#include <fmt/core.h>

namespace partita::sim::mps {
namespace {

constexpr mode_t kLogMode = 0644;

void WriteLine(int fd, std::string_view line) {
  // A log that cannot be written stops nobody.
  if (fd >= 0) static_cast<void>(write(fd, line.data(), line.size()) < 0);
}

base::UniqueFd OpenLog(const std::string& path) {
  return base::UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kLogMode));
}

}  // namespace

std::string LogLine(std::string_view who, pid_t pid, std::string_view text) {
  timeval now{};
  gettimeofday(&now, nullptr);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  char time[32] = "";
  strftime(time, sizeof time, "%Y-%m-%d %H:%M:%S", &parts);
  return fmt::format("[{}.{:03} {}{:>6}] {}\n", time, now.tv_usec / 1000, who, pid, text);
}

std::string_view WhoOf(std::string_view line) {
  std::size_t at = 0;
  for (int blanks = 0; blanks < 2; ++blanks) {
    at = line.find(' ', at);
    if (at == std::string_view::npos) return {};
    ++at;
  }
  return line.substr(at, line.find(' ', at) - at);
}

PipeLog::PipeLog(const std::string& pipe_directory)
    : pipe_(open((pipe_directory + "/log").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) {}

void PipeLog::Say(std::string_view who, pid_t pid, std::string_view text) {
  WriteLine(pipe_.get(), LogLine(who, pid, text));
}

DaemonLog DaemonLog::ToStandardOutput() {
  DaemonLog log;
  log.foreground_ = true;
  return log;
}

DaemonLog DaemonLog::ToFiles(const std::string& directory, bool* usable) {
  DaemonLog log;
  log.control_ = OpenLog(directory + "/control.log");
  log.server_ = OpenLog(directory + "/server.log");
  *usable = log.control_.valid() && log.server_.valid();
  return log;
}

void DaemonLog::Say(std::string_view who, pid_t pid, std::string_view text) {
  Copy(LogLine(who, pid, text));
}

void DaemonLog::Copy(std::string_view line) {
  if (foreground_) return WriteLine(STDOUT_FILENO, line);
  WriteLine(WhoOf(line) == "Control" ? control_.get() : server_.get(), line);
}

}  // namespace partita::sim::mps
