#include "sim/mps/daemon.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "base/text.h"

namespace partita::sim::mps {
namespace {

base::UniqueFd WatchChildren() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  return base::UniqueFd(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

Daemon::Daemon(PipeFiles files, DaemonLog log, std::string directory, Settings defaults)
    : files_(std::move(files)),
      log_(std::move(log)),
      directory_(std::move(directory)),
      children_(WatchChildren()),
      defaults_(std::move(defaults)) {
  Say(fmt::format("Starting control daemon using socket {}/control", directory_));
  Say(fmt::format("To connect CUDA applications to this daemon, set env CUDA_MPS_PIPE_DIRECTORY={}",
                  directory_));
  Say("CUDA MPS Control binary version: 13000");
}

void Daemon::Say(const std::string& text, pid_t pid) {
  log_.Say("Control", pid == 0 ? getpid() : pid, text);
}

void Daemon::LogAnswer(std::string_view answer) {
  for (const std::string_view line : base::SplitLines(answer)) Say(std::string(line));
}

int Daemon::Timeout() const {
  std::optional<Clock::time_point> next = quit_by_;
  if (server_ && server_->shutdown_wanted && (!next || server_->next_try < *next)) {
    next = server_->next_try;
  }
  if (!next) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left + 1, 0, 60'000));
}

void Daemon::Run() {
  while (!quitting_ || server_) {
    std::vector<pollfd> wait = {{files_.control.get(), POLLIN, 0},
                                {files_.privileged.get(), POLLIN, 0},
                                {files_.log.get(), POLLIN, 0},
                                {children_.get(), POLLIN, 0},
                                {server_ ? server_->link.get() : -1, POLLIN, 0}};
    for (const Peer& peer : peers_) wait.push_back({peer.fd.get(), POLLIN, 0});
    if (poll(wait.data(), wait.size(), Timeout()) < 0 && errno != EINTR) return;
    if (wait[2].revents != 0) ReadLogPipe();
    if (wait[4].revents != 0) HearServer();
    if (wait[3].revents != 0) ReapServer();
    for (std::size_t i = 5; i < wait.size(); ++i) {
      if (wait[i].revents != 0) HearPeer(wait[i].fd);
    }
    for (const int i : {0, 1}) {
      if (wait[static_cast<std::size_t>(i)].revents != 0) {
        Accept(wait[static_cast<std::size_t>(i)].fd);
      }
    }
    OnTime();
  }
  ReadLogPipe();
  Say("Exit with status 0");
  RemovePipeFiles(directory_);
}

void Daemon::Accept(int listener) {
  while (true) {
    base::UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) return;
    Say("Accepting connection...");
    ucred who{};
    socklen_t size = sizeof who;
    getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &size);
    // Whoever comes now finds nobody: no command is taken and no client.
    if (quitting_) continue;
    peers_.push_back(
        {std::move(fd), static_cast<std::uint32_t>(std::max(who.pid, 0)), who.uid, false});
  }
}

void Daemon::HearPeer(int fd) {
  const auto found =
      std::ranges::find_if(peers_, [&](const Peer& peer) { return peer.fd.get() == fd; });
  if (found == peers_.end()) return;
  // Of those who were there before, too, nobody is heard any more.
  if (quitting_) {
    peers_.erase(found);
    return;
  }
  static TextFrame frame;
  const long size = Receive(fd, &frame, sizeof frame, MSG_DONTWAIT);
  if (size == -EAGAIN) return;
  const auto length = static_cast<std::size_t>(std::max(size, 0L));
  if (length >= offsetof(TextFrame, text) && frame.kind == Kind::kCommand) {
    HearUi(*found, std::string_view(frame.text, length - offsetof(TextFrame, text)));
    return;
  }
  if (length == sizeof(ClientHello) && frame.kind == Kind::kClient && !found->is_ui) {
    ClientHello hello;
    std::memcpy(&hello, &frame, sizeof hello);
    hello.name[sizeof hello.name - 1] = '\0';
    Peer peer = std::move(*found);
    peers_.erase(found);
    TakeClient(std::move(peer), hello);
    return;
  }
  Say(found->is_ui ? "UI closed" : "User did not send valid credentials");
  peers_.erase(found);
}

void Daemon::HearUi(Peer& peer, std::string_view line) {
  if (!peer.is_ui) Say("NEW UI");
  peer.is_ui = true;
  Say(fmt::format("Cmd:{}", line));
  const Command command = ParseCommand(line);
  const std::string text = Obey(command, peer.uid);
  LogAnswer(text);
  // A daemon that is told to quit answers by its end.
  if (quitting_) return;
  static TextFrame frame;
  frame.kind = Kind::kAnswer;
  const std::size_t size = std::min(text.size(), kMostText);
  text.copy(frame.text, size);
  static_cast<void>(Send(peer.fd.get(), &frame, offsetof(TextFrame, text) + size));
}

void Daemon::TakeClient(Peer peer, const ClientHello& hello) {
  Pending client{std::move(peer.fd), {Kind::kNewClient, peer.pid, peer.uid, hello}};
  const bool there = server_ && server_->ready && server_->uid == peer.uid;
  Say(fmt::format(
      "NEW CLIENT {} from user {}: {}", peer.pid, peer.uid,
      there ? "Server already exists" : "Server is not ready, push client to pending list"));
  if (there) return HandOn(std::move(client));
  pending_.push_back(std::move(client));
  ServePending();
}

void Daemon::HandOn(Pending client) {
  const int error =
      Send(server_->link.get(), &client.request, sizeof client.request, client.fd.get());
  if (error == 0) return;
  // It is ending: the next one takes them.
  server_->ready = false;
  pending_.push_back(std::move(client));
}

// The first that waits decides whose server comes next.
void Daemon::ServePending() {
  if (pending_.empty()) return;
  const std::uint32_t uid = pending_.front().request.uid;
  if (!server_) return StartServer(uid);
  if (server_->uid != uid) {
    if (!server_->shutdown_wanted) TryShutdown(false);
    return;
  }
  if (!server_->ready) return;
  std::vector<Pending> waiting = std::exchange(pending_, {});
  for (Pending& client : waiting) {
    if (server_->ready && client.request.uid == uid) {
      HandOn(std::move(client));
    } else {
      pending_.push_back(std::move(client));
    }
  }
}

void Daemon::ReadLogPipe() {
  char bytes[4096];
  ssize_t size = 0;
  while ((size = read(files_.log.get(), bytes, sizeof bytes)) > 0) {
    log_rest_.append(bytes, static_cast<std::size_t>(size));
  }
  for (std::size_t end = 0; (end = log_rest_.find('\n')) != std::string::npos;) {
    log_.Copy(std::string_view(log_rest_).substr(0, end + 1));
    log_rest_.erase(0, end + 1);
  }
  // No line of ours is that long.
  if (log_rest_.size() > kMostText) log_rest_.clear();
}

void Daemon::OnTime() {
  if (server_ && quit_by_ && Clock::now() >= *quit_by_) {
    quit_by_.reset();
    ForceShutdown();
  }
  if (server_ && server_->shutdown_wanted && Clock::now() >= server_->next_try) TryShutdown(true);
  // It may have said that it is ready while it was asked something.
  if (server_ && server_->ready) ServePending();
}

}  // namespace partita::sim::mps
