// Real processes by the daemon's name, which say what a test has them say.
#pragma once

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/mps/control.h"
#include "agent/mps/known_process.h"
#include "agent/mps/runner.h"

namespace partita::agent::mps::testing {

inline bool Append(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::app);
  file << text;
  return file.good();
}

// Any thread.
class ScriptedRunner final : public Runner {
 public:
  base::Result<model::Pid> Start(const Launch& launch, const std::atomic<bool>& /*stop*/) override {
    const pid_t pid = fork();
    if (pid == 0) {
      // Whoever reads what the test says does not wait for this one's end.
      for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) close(descriptor);
      execl("/bin/sleep", "nvidia-cuda-mps-control", "100", nullptr);
      _exit(127);
    }
    while (!OpenProgram(model::Pid(pid), kControlProgram).ok()) {
    }
    EXPECT_TRUE(Append(launch.output, ""));
    const std::lock_guard lock(mutex_);
    started_.push_back(pid);
    deaf_ = has_quit_ = false;
    threads_ = "50.0";
    return model::Pid(pid);
  }
  base::Result<std::string> Ask(const service::mps::Directories& /*directories*/,
                                std::string_view command,
                                const std::atomic<bool>* stop) const override {
    const std::lock_guard lock(mutex_);
    ++asked_[std::string(command)];
    if (together_ > 0) return Hang(*stop);
    if (deaf_) return base::MakeError(base::ErrorCode::kTimeout, "no answer");
    if (failing_ && command.starts_with(fails_at_)) return base::MakeError(*failing_, "it failed");
    if (started_.empty() || has_quit_)
      return base::MakeError(base::ErrorCode::kUnavailable, "nobody");
    if (command.starts_with("quit")) {
      has_quit_ = true;
      kill(started_.back(), SIGKILL);
    }
    if (command.starts_with("shutdown_server")) servers_.clear();
    if (command == service::mps::kListServers) return servers_.empty() ? "" : servers_ + "\n";
    if (command.starts_with("get_server_status"))
      return servers_.empty() ? "Server 77 not found\n" : state_ + "\n";
    if (command.starts_with("get_default_device_pinned_mem_limit")) return std::string("2G\n");
    return threads_ + "\n";
  }
  base::Result<void> MountShm(const std::string& /*path*/) override { return {}; }
  void UnmountShm(const std::string& /*path*/) override {}
  base::Result<void> Reachable() const override {
    const std::lock_guard lock(mutex_);
    if (!away_) return {};
    return base::MakeError(base::ErrorCode::kUnavailable, "nobody");
  }

  void BeAway() {
    const std::lock_guard lock(mutex_);
    away_ = deaf_ = true;
  }
  void BeDeaf(bool deaf) {
    const std::lock_guard lock(mutex_);
    deaf_ = deaf;
  }
  // Every question hangs until so many that hang have been told to stop.
  void HangTogether(int count) {
    const std::lock_guard lock(mutex_);
    together_ = count;
  }
  // Commands that begin so; nothing: none any more.
  void FailAt(std::string command, std::optional<base::ErrorCode> code) {
    const std::lock_guard lock(mutex_);
    fails_at_ = std::move(command);
    failing_ = code;
  }
  void HaveThreads(std::string percentage) {
    const std::lock_guard lock(mutex_);
    threads_ = std::move(percentage);
  }
  void HaveServer(std::string state) {
    const std::lock_guard lock(mutex_);
    servers_ = "77";
    state_ = std::move(state);
  }
  int asked(const std::string& command) const {
    const std::lock_guard lock(mutex_);
    return asked_[command];
  }
  std::size_t started() const {
    const std::lock_guard lock(mutex_);
    return started_.size();
  }
  void EndAll() {
    for (const pid_t pid : started_) kill(pid, SIGKILL);
  }

 private:
  base::Error Hang(const std::atomic<bool>& stop) const {
    mutex_.unlock();
    while (!stop) (void)poll(nullptr, 0, 1);
    ++stopped_;
    while (stopped_ < together_) (void)poll(nullptr, 0, 1);
    mutex_.lock();
    return base::MakeError(base::ErrorCode::kTimeout, "it was told to stop");
  }

  mutable std::mutex mutex_;
  std::atomic<int> together_ = 0;
  mutable std::atomic<int> stopped_ = 0;
  mutable std::map<std::string, int> asked_;
  std::vector<pid_t> started_;
  bool deaf_ = false;
  bool away_ = false;
  mutable bool has_quit_ = false;
  std::string fails_at_;
  std::optional<base::ErrorCode> failing_;
  mutable std::string servers_;
  std::string state_;
  std::string threads_ = "50.0";
};

}  // namespace partita::agent::mps::testing
