// Real processes by the daemon's name, which say what a test has them say.
#pragma once

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
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
#include "agent/mps/testing/programs.h"

namespace partita::agent::mps::testing {

inline bool Append(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::app);
  file << text;
  return file.good();
}

inline constexpr const char* kServer = "nvidia-cuda-mps-server";

// A server of that daemon, as far as /proc tells.
inline pid_t StartServer(const service::mps::Directories& directories) {
  const std::string program = MakeProgram(directories.pipe + "/..", kServer);
  const pid_t server = fork();
  if (server == 0) {
    std::string variable = "CUDA_MPS_PIPE_DIRECTORY=" + directories.pipe;
    std::array<char*, 2> environment = {variable.data(), nullptr};
    execle(program.c_str(), kServer, "1000", nullptr, environment.data());
    _exit(127);
  }
  EXPECT_TRUE(AwaitProgram(server, kServer));
  return server;
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
    EXPECT_TRUE(AwaitProgram(pid, kControlProgram));
    EXPECT_TRUE(Append(launch.output, ""));
    const std::lock_guard lock(mutex_);
    started_.push_back(pid);
    daemons_[launch.domain] = pid;
    deaf_ = false;
    threads_ = takes_one_ ? "100.0" : "50.0";
    return model::Pid(pid);
  }
  base::Result<std::string> Ask(const service::mps::Directories& directories,
                                std::string_view command,
                                const std::atomic<bool>* stop) const override {
    const std::lock_guard lock(mutex_);
    ++asked_[std::string(command)];
    if (together_ > 0) return Hang(*stop);
    const std::string domain = DomainOf(directories);
    if (hangs_in_ == domain && command.starts_with(hangs_at_)) {
      hangs_in_.clear();
      hangs_ = true;
      mutex_.unlock();
      while (hangs_ && !*stop) (void)poll(nullptr, 0, 1);
      mutex_.lock();
      if (hangs_.exchange(false)) {
        return base::MakeError(base::ErrorCode::kTimeout, "it was told to stop");
      }
    }
    const auto daemon = daemons_.find(domain);
    // Of one that has ended nobody waits for an answer.
    const bool lives =
        daemon != daemons_.end() && OpenProgram(model::Pid(daemon->second), kControlProgram).ok();
    if (away_ || stopped_runner_) return base::MakeError(base::ErrorCode::kIo, "no MPS runner");
    if (deaf_ && lives) return base::MakeError(base::ErrorCode::kTimeout, "no answer");
    if (failing_ && command.starts_with(fails_at_)) return base::MakeError(*failing_, "it failed");
    if (!lives) return base::MakeError(base::ErrorCode::kUnavailable, "nobody");
    if (command.starts_with("quit")) {
      kill(daemon->second, SIGKILL);
      daemons_.erase(daemon);
    }
    return Answer(command);
  }
  base::Result<std::string> AskAll(const service::mps::Directories& directories,
                                   const std::vector<std::string>& commands,
                                   const std::atomic<bool>* stop) const override {
    ++asked_together_;
    std::vector<std::string> heard = commands;
    if (takes_one_) heard.resize(1);
    return Runner::AskAll(directories, heard, stop);
  }
  base::Result<void> MountShm(const std::string& /*path*/) override { return {}; }
  void UnmountShm(const std::string& /*path*/) override {}
  base::Result<void> Reachable() const override {
    const std::lock_guard lock(mutex_);
    if (!away_) return {};
    return base::MakeError(base::ErrorCode::kUnavailable, "nobody");
  }

  // As PodRunner: nobody listens there…
  void BeAway(bool away = true) {
    const std::lock_guard lock(mutex_);
    away_ = away;
  }
  // … or somebody who takes connections and answers nothing.
  void BeStopped() {
    const std::lock_guard lock(mutex_);
    stopped_runner_ = true;
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
  // The next command of that domain that begins so, until it is told to stop or GoOn.
  void HangAt(std::string domain, std::string command) {
    const std::lock_guard lock(mutex_);
    hangs_in_ = std::move(domain);
    hangs_at_ = std::move(command);
  }
  [[nodiscard]] bool hangs() const { return hangs_; }
  void GoOn() { hangs_ = false; }
  // Commands that begin so; nothing: none any more.
  void FailAt(std::string command, std::optional<base::ErrorCode> code) {
    const std::lock_guard lock(mutex_);
    fails_at_ = std::move(command);
    failing_ = code;
  }
  // Of those that come together only the first.
  void TakeOne() { takes_one_ = true; }
  int asked_together() const { return asked_together_; }
  void HaveThreads(std::string percentage) {
    const std::lock_guard lock(mutex_);
    threads_ = std::move(percentage);
  }
  void HaveServer(std::string state, pid_t pid = 77) {
    const std::lock_guard lock(mutex_);
    servers_ = std::to_string(pid);
    state_ = std::move(state);
  }
  // Until the process has ended; shutdown_server does not end it.
  void HaveStubbornServer(std::string state, pid_t pid) {
    HaveServer(std::move(state), pid);
    const std::lock_guard lock(mutex_);
    stubborn_ = pid;
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
  static std::string DomainOf(const service::mps::Directories& directories) {
    const std::string domain = directories.pipe.substr(0, directories.pipe.rfind('/'));
    return domain.substr(domain.rfind('/') + 1);
  }
  std::string Answer(std::string_view command) const {
    const bool ends = command.starts_with("shutdown_server") && stubborn_ == 0;
    const bool has_ended = stubborn_ != 0 && !OpenProgram(model::Pid(stubborn_), kServer).ok();
    if (ends || has_ended) servers_.clear();
    if (command.starts_with("set_default_active_thread")) threads_ = "50.0";
    if (command == service::mps::kListServers) return servers_.empty() ? "" : servers_ + "\n";
    if (command.starts_with("get_server_status")) {
      return servers_.empty() ? "Server 77 not found\n" : state_ + "\n";
    }
    if (command.starts_with("get_default_device_pinned_mem_limit")) return "2G\n";
    return threads_ + "\n";
  }
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
  std::atomic<bool> takes_one_ = false;
  mutable std::atomic<int> asked_together_ = 0;
  mutable std::map<std::string, int> asked_;
  std::vector<pid_t> started_;
  mutable std::map<std::string, pid_t> daemons_;  // by domain; those that did not quit
  mutable std::string hangs_in_;
  std::string hangs_at_;
  mutable std::atomic<bool> hangs_ = false;
  bool deaf_ = false;
  bool away_ = false;
  bool stopped_runner_ = false;
  std::string fails_at_;
  std::optional<base::ErrorCode> failing_;
  mutable std::string servers_;
  pid_t stubborn_ = 0;  // the one of these that must be killed
  std::string state_;
  mutable std::string threads_ = "50.0";
};

}  // namespace partita::agent::mps::testing
