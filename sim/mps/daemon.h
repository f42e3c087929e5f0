// The control daemon: one on a pipe directory, one loop, a server at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "sim/cuda/mps_wire.h"
#include "sim/mps/commands.h"
#include "sim/mps/log.h"
#include "sim/mps/pipe_directory.h"
#include "sim/mps/settings.h"

namespace partita::sim::mps {

// The one server there is at a time; others' users wait. Not within the class: clang 14 knows no
// defaults of members there yet.
struct ServerProcess {
  pid_t pid = 0;
  std::uint32_t uid = 0;
  base::UniqueFd link;
  bool ready = false;
  bool shutdown_wanted = false;
  std::chrono::milliseconds pause{0};
  std::chrono::steady_clock::time_point next_try;
};

class Daemon {
 public:
  // `defaults`: of every server, until commands change them.
  Daemon(PipeFiles files, DaemonLog log, std::string directory, Settings defaults);

  // Until it is told to quit.
  void Run();

 private:
  using Clock = std::chrono::steady_clock;

  // Somebody who connected and, so far, said nothing or commands.
  struct Peer {
    base::UniqueFd fd;
    std::uint32_t pid = 0, uid = 0;
    bool is_ui = false;
  };
  struct Pending {
    base::UniqueFd fd;
    NewClient request{};
  };

  void Say(const std::string& text, pid_t pid = 0);
  [[nodiscard]] int Timeout() const;
  void Accept(int listener);
  void HearPeer(int fd);
  void HearUi(Peer& peer, std::string_view line);
  void TakeClient(Peer peer, const ClientHello& hello);
  void HandOn(Pending client);
  void ServePending();
  void ReadLogPipe();
  void HearServer();
  void ReapServer();
  void OnTime();
  void StartServer(std::uint32_t uid);
  void TryShutdown(bool backoff);
  void ForceShutdown();
  void LogAnswer(std::string_view answer);

  // What is printed for a command; nothing: the daemon ends instead.
  [[nodiscard]] std::string Obey(const Command& command, std::uint32_t uid);
  std::string SetDefaultPercentage(const std::string& value);
  [[nodiscard]] bool IsServer(std::uint32_t pid) const;
  std::string Ps(std::uint32_t pid);
  std::string GetDefaultLimit(const std::string& device);
  std::string ObeyServer(const Command& command);
  std::string ObeyStart(const Command& command);
  std::string ObeyShutdown(const Command& command);
  // Asks the server; nothing: it is gone.
  std::optional<std::string> Ask(const std::string& request);

  PipeFiles files_;
  DaemonLog log_;
  std::string directory_;
  base::UniqueFd children_;  // a signalfd of SIGCHLD
  Settings defaults_;
  std::vector<Peer> peers_;
  std::vector<Pending> pending_;
  std::optional<ServerProcess> server_;
  std::string log_rest_;  // of a line that is not whole yet
  bool quitting_ = false;
  std::optional<Clock::time_point> quit_by_;
};

}  // namespace partita::sim::mps
