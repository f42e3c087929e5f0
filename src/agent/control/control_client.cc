#include "agent/control/control_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "agent/control/protocol.h"
#include "base/files.h"
#include "base/state_file.h"

namespace partita::agent::control {
namespace {

using base::Error;
using base::ErrorCode;
using std::chrono::milliseconds;
using Time = std::chrono::steady_clock::time_point;

// How long a flag that somebody sets can go unseen.
constexpr milliseconds kLook{200};

std::optional<Time> DeadlineOf(std::optional<milliseconds> patience) {
  if (!patience) return std::nullopt;
  return std::chrono::steady_clock::now() + *patience;
}

// Until the descriptor is ready for it.
base::Result<void> Wait(int fd,
                        short events,
                        std::optional<Time> deadline,
                        const std::atomic<bool>* stop,
                        const Words& words) {
  for (;;) {
    if (stop != nullptr && stop->load())
      return base::MakeError(ErrorCode::kTimeout, "the wait for {} was ended", words.who);
    milliseconds left = stop != nullptr ? kLook : milliseconds(60'000);
    if (deadline) {
      const auto remaining =
          std::chrono::ceil<milliseconds>(*deadline - std::chrono::steady_clock::now());
      if (remaining <= milliseconds(0)) {
        return base::MakeError(words.silent, "{} does not answer", words.who)
            .WithHint(std::string(words.to_look));
      }
      left = std::min(left, remaining);
    }
    pollfd polled{fd, events, 0};
    const int ready = poll(&polled, 1, static_cast<int>(left.count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return base::ErrnoError(fmt::format("wait for {}", words.who));
  }
}

Error Gone(const Words& words) {
  return base::MakeError(words.gone, "{} went away without an answer", words.who)
      .WithHint(std::string(words.when_gone));
}

// What root does with an answer must be no stranger's to decide: in a directory that others may
// write, the socket can be anybody's.
base::Result<void> CheckListener(int fd, const std::string& path, const Words& words) {
  ucred listener{};
  socklen_t size = sizeof(listener);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &size) != 0)
    return base::ErrnoError("ask who listens at " + path);
  if (listener.uid == 0 || listener.uid == geteuid()) return {};
  return base::MakeError(ErrorCode::kConflict, "user {} listens at {}: that is not {}",
                         listener.uid, path, words.who)
      .WithHint("see who may write into its directory");
}

}  // namespace

std::string SocketPath() { return base::JoinPath(base::RunDirectory(), "agent.sock"); }

base::Result<Client> Client::Connect(const std::string& path,
                                     milliseconds patience,
                                     const Words& words) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (path.size() >= sizeof(where.sun_path))
    return base::MakeError(ErrorCode::kInvalid, "{} is too long for a socket's path", path);
  std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
  base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return base::ErrnoError("make a socket");
  const std::optional<Time> deadline = DeadlineOf(patience);
  while (connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0) {
    if (errno == EINTR) continue;
    if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR)
      return base::MakeError(ErrorCode::kUnavailable, "no agent answers at {}", path)
          .WithHint(
              "start it: systemctl start partita-agent, or partita agent in another terminal");
    if (errno != EAGAIN) return base::ErrnoError("connect to " + path);
    // Its queue is full, and no event says when it no longer is.
    if (std::chrono::steady_clock::now() >= *deadline) {
      return base::MakeError(ErrorCode::kTimeout, "{} at {} takes no connection", words.who, path)
          .WithHint(std::string(words.to_look));
    }
    poll(nullptr, 0, 20);
  }
  TRY_VOID(CheckListener(fd.get(), path, words));
  return Client(std::move(fd), words);
}

base::Result<void> Client::Send(const std::string& frame, const CallOptions& options) {
  const std::optional<Time> deadline = DeadlineOf(options.patience);
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t count =
        send(fd_.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
      continue;
    }
    // It may have said why before it closed: the answer is read below.
    if (errno == EPIPE || errno == ECONNRESET) return {};
    if (errno != EAGAIN && errno != EINTR)
      return base::ErrnoError(fmt::format("ask {}", words_.who));
    TRY_VOID(Wait(fd_.get(), POLLOUT, deadline, options.stop, words_));
  }
  return {};
}

base::Result<base::Value> Client::ReceiveFrame(const CallOptions& options) {
  const std::optional<Time> deadline = DeadlineOf(options.patience);
  for (;;) {
    TRY(frame, TakeFrame(input_, kMostAnswer), "{}'s answer", words_.who);
    if (frame) return *std::move(frame);
    TRY_VOID(Wait(fd_.get(), POLLIN, deadline, options.stop, words_));
    std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    const ssize_t count = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0)
      input_.append(buffer.data(), static_cast<std::size_t>(count));
    else if (count == 0 || errno == ECONNRESET)
      return Gone(words_);
    else if (errno != EAGAIN && errno != EINTR)
      return base::ErrnoError(fmt::format("hear {}", words_.who));
  }
}

base::Result<base::Value> Client::Call(const std::string& method,
                                       const base::Value& params,
                                       const CallOptions& options) {
  TRY_VOID(Send(MakeFrame(ToValue(Request{method, params})), options));
  return Await(options);
}

base::Result<base::Value> Client::Await(const CallOptions& options) {
  for (;;) {
    TRY(frame, ReceiveFrame(options));
    TRY(answer, ReadAnswer(frame), "{}'s answer", words_.who);
    if (auto* end = std::get_if<base::Result<base::Value>>(&answer)) return std::move(*end);
    if (options.progress) options.progress(std::get<Progress>(answer).value);
  }
}

}  // namespace partita::agent::control
