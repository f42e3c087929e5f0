#include "net/connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace partita::net {

std::shared_ptr<Connection> Connection::Make(Loop& loop,
                                             const std::string& name,
                                             base::UniqueFd fd,
                                             ConnectionLimits limits,
                                             Events events) {
  std::shared_ptr<Connection> connection(
      new Connection(loop, name, std::move(fd), limits, std::move(events)));
  connection->watch_->OnReadable([raw = connection.get()] { raw->Read(); });
  connection->WaitForRequest();
  return connection;
}

Connection::Connection(
    Loop& loop, const std::string& name, base::UniqueFd fd, ConnectionLimits limits, Events events)
    : fd_(std::move(fd)),
      limits_(limits),
      events_(std::move(events)),
      watch_(loop.NewWatch(name, fd_.get())),
      asking_(loop.NewTimer(name + "-asks")),
      taking_(loop.NewTimer(name + "-takes")) {}

Connection::~Connection() { watch_.reset(); }

void Connection::WaitForRequest() {
  asking_->After(limits_.to_ask, [this] { Close(); });
}

void Connection::Read() {
  const std::shared_ptr<Connection> self = shared_from_this();
  std::array<char, 16384> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv fills it
  const ssize_t count = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return Close();
  // What comes after the last request is of no interest, but its end is.
  if (closing_) return;
  input_.append(buffer.data(), static_cast<std::size_t>(count));
  if (input_.size() > limits_.most_input) return Close();
  OfferInput();
}

void Connection::OfferInput() {
  // Whoever answers at once offers the next request from inside: they follow each other here, not
  // on the stack, whose depth would be the peer's choice.
  again_ = true;
  if (offering_) return;
  const std::shared_ptr<Connection> self = shared_from_this();
  offering_ = true;
  while (std::exchange(again_, false) && !closed() && !closing_ && !input_.empty())
    events_.input(input_);
  offering_ = false;
}

void Connection::SetBusy(bool busy) {
  if (closed() || busy == busy_) return;
  busy_ = busy;
  if (busy_)
    asking_->Cancel();
  else
    WaitForRequest();
}

void Connection::Send(std::string_view bytes) {
  if (closed() || closing_) return;
  const std::shared_ptr<Connection> self = shared_from_this();
  if (output_.size() + bytes.size() > limits_.most_output) return Close();
  output_ += bytes;
  if (output_.size() == bytes.size()) Flush();
}

void Connection::Flush() {
  const std::shared_ptr<Connection> self = shared_from_this();
  while (!output_.empty()) {
    const ssize_t count =
        send(fd_.get(), output_.data(), output_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      // From when something began to wait: a peer that takes a byte now and then gains nothing.
      if (!taking_->armed()) taking_->After(limits_.to_take, [this] { Close(); });
      watch_->OnWritable([this] { Flush(); });
      return;
    }
    if (count < 0) return Close();
    output_.erase(0, static_cast<std::size_t>(count));
  }
  taking_->Cancel();
  watch_->OnWritable(nullptr);
  if (closing_) Close();
}

void Connection::CloseAfterSending() {
  if (closed() || closing_) return;
  closing_ = true;
  if (output_.empty()) return Close();
  // It has asked all that it will: only taking the answer counts now.
  asking_->Cancel();
}

void Connection::Close() {
  if (closed()) return;
  const std::shared_ptr<Connection> self = shared_from_this();
  watch_.reset();
  asking_.reset();
  taking_.reset();
  fd_.Reset();
  const Task tell = std::exchange(events_.closed, nullptr);
  if (tell) tell();
}

}  // namespace partita::net
