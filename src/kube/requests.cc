#include "kube/requests.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kube/status.h"

namespace partita::kube {
namespace {

constexpr std::chrono::seconds kToBegin{30};
constexpr int kMostPostponed = 10;

// No server has said anything: certificates that are being exchanged, half of a new pair, a file of
// credentials that is not there yet. All of it passes, as an outage does, and none of it may be
// taken for a server's refusal or for an object that is not there.
base::Error Unanswered(base::Error error) {
  if (error.code() == base::ErrorCode::kTimeout) return error;
  return std::move(error).As(base::ErrorCode::kUnavailable);
}

}  // namespace

struct Requests::Pending {
  Order order;
  Answer answer;
  base::Clock::Steady until{};
  std::unique_ptr<net::Timer> pause;
  int postponed = 0;
  bool refused = false;
};

Requests::Requests(
    net::Loop& loop, std::string name, Access access, Random random, std::string user_agent)
    : loop_(loop),
      name_(std::move(name)),
      credentials_(std::move(access)),
      random_(std::move(random)),
      user_agent_(std::move(user_agent)),
      http_(loop, name_) {}

base::Result<net::HttpClientRequest> Requests::Prepare(const Order& order) {
  TRY_VOID(credentials_.Refresh());
  http_.SetTarget(credentials_.server());
  ++counts_[order.verb + " " + ResourceOf(order.path)];
  net::HttpClientRequest request;
  request.method = order.method;
  request.path = credentials_.access().path_prefix + order.path;
  request.headers = {{"Accept", "application/json"}, {"User-Agent", user_agent_}};
  if (!order.content_type.empty()) request.headers.emplace_back("Content-Type", order.content_type);
  if (!credentials_.token().empty())
    request.headers.emplace_back("Authorization", "Bearer " + credentials_.token());
  request.body = order.body;
  request.repeatable = order.repeatable;
  return request;
}

base::Error Requests::Explained(base::Error error) const {
  const std::optional<base::Error>& unused = credentials_.unused();
  if (!unused || error.code() != base::ErrorCode::kUnavailable) return error;
  return std::move(error).WithHint(fmt::format("what was read of it before is in force: {}{}{}",
                                               unused->ToString(),
                                               unused->hint().empty() ? "" : "; ", unused->hint()));
}

void Requests::Ask(Order order, Answer answer) {
  auto pending = std::make_shared<Pending>();
  pending->order = std::move(order);
  pending->answer = std::move(answer);
  pending->until = loop_.clock().Now() + kToAnswer;
  pending->pause = loop_.NewTimer(name_ + "-postponed");
  pending_.push_back(pending);
  pending->pause->After({}, [this, weak = std::weak_ptr(pending)] {
    if (const auto ready = weak.lock()) Send(ready);
  });
}

void Requests::Send(const std::shared_ptr<Pending>& pending) {
  auto request = Prepare(pending->order);
  if (!request.ok()) return Answered(pending, Unanswered(std::move(request).error()));
  const net::Duration left = pending->until - loop_.clock().Now();
  http_.Ask(*std::move(request), left, [this, pending](base::Result<net::HttpClientAnswer> answer) {
    if (answer.ok()) return Answered(pending, std::move(answer));
    Answered(pending, Unanswered(std::move(answer).error()));
  });
}

void Requests::Answered(const std::shared_ptr<Pending>& pending,
                        base::Result<net::HttpClientAnswer> answer) {
  if (answer.ok() && answer->status == 401 && !std::exchange(pending->refused, true) &&
      credentials_.ReadAgain())
    return Send(pending);
  if (answer.ok() && answer->status == 429 && pending->postponed < kMostPostponed) {
    if (const auto asked = RetryAfter(answer->headers)) {
      const net::Duration pause = BackoffDelay(++pending->postponed, asked, random_());
      if (loop_.clock().Now() + pause < pending->until) {
        pending->pause->After(pause, [this, weak = std::weak_ptr(pending)] {
          if (const auto ready = weak.lock()) Send(ready);
        });
        return;
      }
    }
  }
  pending_.remove(pending);
  pending->answer(std::move(answer));
}

base::Result<std::unique_ptr<net::HttpClient::Stream>> Requests::Watch(
    const std::string& path, net::Duration idle, net::HttpClient::StreamEvents events) {
  auto request = Prepare({.verb = "watch", .method = "GET", .path = path});
  if (!request.ok()) return Unanswered(std::move(request).error());
  events.ended = [ended = std::move(events.ended)](const base::Result<void>& how) {
    ended(how.ok() ? how : Unanswered(how.error()));
  };
  return http_.Open(*std::move(request), kToBegin, idle, std::move(events));
}

}  // namespace partita::kube
