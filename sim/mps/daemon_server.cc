// The daemon and its server: start, requests, shutdown.

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"
#include "sim/mps/daemon.h"
#include "sim/mps/server.h"

namespace partita::sim::mps {
namespace {

constexpr std::chrono::milliseconds kFirstPause{200}, kLongestPause{25'600};

// The server lies beside the daemon's own program.
std::string ServerProgram() {
  const auto self = base::ReadLink("/proc/self/exe");
  const std::string own = self.ok() ? *self : "";
  return own.substr(0, own.rfind('/') + 1) + "nvidia-cuda-mps-server";
}

[[noreturn]] void BecomeServer(std::uint32_t uid, int link, const std::string& settings) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  fcntl(link, F_SETFD, 0);
  setenv(kLinkVariable, fmt::format("{}", link).c_str(), 1);
  setenv(kSettingsVariable, settings.c_str(), 1);
  if (uid != getuid() && setuid(uid) != 0) _exit(1);
  execl(ServerProgram().c_str(), "nvidia-cuda-mps-server", nullptr);
  _exit(1);
}

}  // namespace

void Daemon::StartServer(std::uint32_t uid) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  base::UniqueFd ours(ends[0]), theirs(ends[1]);
  const std::string settings = defaults_.Encoded();
  const pid_t child = fork();
  if (child < 0) return;
  if (child == 0) BecomeServer(uid, theirs.get(), settings);
  Say(fmt::format("Starting new server {} for user {}", child, uid), child);
  server_.emplace();
  server_->pid = child;
  server_->uid = uid;
  server_->link = std::move(ours);
}

void Daemon::HearServer() {
  static TextFrame frame;
  const long size = Receive(server_->link.get(), &frame, sizeof frame, MSG_DONTWAIT);
  // Its end comes as a signal, too; until then there is nothing more to hear.
  if (size == 0) server_->link.Reset();
  if (size < static_cast<long>(sizeof frame.kind) || frame.kind != Kind::kReady) return;
  server_->ready = true;
  Say(fmt::format("NEW SERVER {}: Ready", server_->pid));
  ServePending();
}

void Daemon::ReapServer() {
  signalfd_siginfo ignored{};
  while (read(children_.get(), &ignored, sizeof ignored) > 0) {
  }
  int status = 0;
  pid_t child = 0;
  while ((child = waitpid(-1, &status, WNOHANG)) > 0) {
    if (!server_ || server_->pid != child) continue;
    ReadLogPipe();
    // A killed one counts as 0 here, as it does with driver 580.
    Say(fmt::format("Server {} exited with status {}", child, WEXITSTATUS(status)));
    const std::uint32_t uid = server_->uid;
    const bool started = server_->ready;
    server_.reset();
    // Who waits for a server that cannot start gets no other one.
    if (!started) {
      std::erase_if(pending_, [&](const Pending& client) { return client.request.uid == uid; });
    }
    if (!quitting_) ServePending();
  }
}

std::optional<std::string> Daemon::Ask(const std::string& request) {
  static TextFrame frame;
  frame.kind = Kind::kRequest;
  const std::size_t size = std::min(request.size(), kMostText);
  request.copy(frame.text, size);
  if (Send(server_->link.get(), &frame, offsetof(TextFrame, text) + size) != 0) return {};
  while (true) {
    // However long: the real one, too, answers nobody while its server is stopped.
    pollfd wait{server_->link.get(), POLLIN, 0};
    const int heard = poll(&wait, 1, -1);
    if (heard < 0 && errno == EINTR) continue;
    if (heard < 0) return {};
    const long got = Receive(server_->link.get(), &frame, sizeof frame, 0);
    if (got < static_cast<long>(sizeof frame.kind)) return {};
    if (frame.kind == Kind::kReady) {
      server_->ready = true;
      Say(fmt::format("NEW SERVER {}: Ready", server_->pid));
      continue;
    }
    return std::string(frame.text, static_cast<std::size_t>(got) - offsetof(TextFrame, text));
  }
}

void Daemon::TryShutdown(bool backoff) {
  Say(fmt::format("Try shutting down server {}, backoff is {}", server_->pid,
                  backoff ? "enabled" : "disabled"));
  const std::string busy = Ask("shutdown").value_or("0");
  server_->shutdown_wanted = busy != "0";
  if (!server_->shutdown_wanted) return;
  Say(fmt::format("Server {} has {} active worker threads. Server will not shutdown.", server_->pid,
                  busy));
  server_->pause =
      server_->pause.count() == 0 ? kFirstPause : std::min(server_->pause * 2, kLongestPause);
  server_->next_try = Clock::now() + server_->pause;
  Say(fmt::format("Control will try shutting down server {} again in at most {}ms", server_->pid,
                  server_->pause.count()));
}

void Daemon::ForceShutdown() {
  Say(fmt::format("Force shutting down server {}", server_->pid));
  server_->shutdown_wanted = false;
  if (!Ask("exit")) kill(server_->pid, SIGKILL);
}

}  // namespace partita::sim::mps
