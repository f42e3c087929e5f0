#include "net/http/exchange.h"

#include <utility>

#include <fmt/format.h>

namespace partita::net {

void Exchange::Start() {
  const std::shared_ptr<Exchange> self = shared_from_this();
  auto text = RenderRequest(request_, pool_.target());
  if (!text.ok()) return Fail(std::move(text).error());
  text_ = *std::move(text);
  TakeConnection(false);
}

void Exchange::TakeConnection(bool fresh) {
  auto taken = pool_.Take(fresh, *this);
  if (!taken.ok()) return Fail(std::move(taken).error());
  connection_ = *std::move(taken);
  if (connection_->open()) Connected();
}

void Exchange::Connected() {
  reader_.emplace(request_.method);
  connection_->Send(text_);
}

void Exchange::Received(std::string_view bytes) {
  const std::shared_ptr<Exchange> self = shared_from_this();
  if (auto taken = reader_->Take(bytes); !taken.ok()) return Fail(std::move(taken).error());
  if (reader_->body().size() > most_ || reader_->announced().value_or(0) > most_) {
    return Fail(base::MakeError(base::ErrorCode::kInvalid,
                                "the answer has more than {} bytes, which is the most that is read",
                                most_));
  }
  if (reader_->has_head() && !std::exchange(told_head_, true)) waiter_->Head(reader_->answer());
  if (waiter_ != nullptr && told_head_ && !reader_->body().empty()) waiter_->Body(*reader_);
  if (waiter_ != nullptr && reader_->whole()) Finish();
}

void Exchange::Finish() {
  const auto connection = std::exchange(connection_, nullptr);
  if (connection != nullptr) {
    if (reader_->reusable())
      pool_.GiveBack(connection);
    else
      connection->Close();
  }
  std::exchange(waiter_, nullptr)->Done(*reader_);
}

void Exchange::Closed(std::optional<base::Error> why) {
  const std::shared_ptr<Exchange> self = shared_from_this();
  const auto connection = std::exchange(connection_, nullptr);
  const bool answered = reader_ && reader_->begun();
  // It was closed while nobody used it, most likely, and the request never read. Not surely: what
  // must not be done twice is left to whoever asked.
  if (connection != nullptr && connection->reused() && !answered && IsRepeatable(request_) &&
      !std::exchange(again_, true)) {
    reader_.reset();
    return TakeConnection(true);
  }
  if (why) return Fail(*std::move(why));
  if (!reader_)
    return Fail(base::Error(base::ErrorCode::kUnavailable, "the connection was closed"));
  if (auto ended = reader_->End(); !ended.ok()) return Fail(std::move(ended).error());
  Finish();
}

void Exchange::Fail(base::Error error) {
  Waiter* waiter = std::exchange(waiter_, nullptr);
  Abandon();
  if (waiter == nullptr) return;
  const std::string path = request_.path.substr(0, request_.path.find('?'));
  waiter->Failed(std::move(error).Within(
      fmt::format("{} {} of {}", request_.method, path, Authority(pool_.target()))));
}

void Exchange::Abandon() {
  waiter_ = nullptr;
  if (const auto connection = std::exchange(connection_, nullptr)) connection->Close();
}

}  // namespace partita::net
