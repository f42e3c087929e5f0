#include "kube/events.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"

namespace partita::kube {
namespace {

// The API's bounds, in bytes.
constexpr std::size_t kMostNote = 1024, kMostInstance = 128, kMostName = 253;
constexpr std::string_view kReporter = "partita";

std::string Note(std::string text) {
  constexpr std::string_view kMore = "…";
  if (text.size() <= kMostNote) return text;
  return std::string(base::CutAtCharacter(text, kMostNote - kMore.size())).append(kMore);
}

// Of an object's name what leaves room for `suffix`, which begins with a dot: no dot or dash may
// stand before it.
std::string EventName(std::string name, const std::string& suffix) {
  if (name.size() + suffix.size() > kMostName) name.resize(kMostName - suffix.size());
  while (name.ends_with('.') || name.ends_with('-')) name.pop_back();
  return name + suffix;
}

base::Value Reference(const Regarding& regarding) {
  base::Value reference = base::Value::Map();
  reference.Set("apiVersion", regarding.api_version).Set("kind", regarding.kind);
  if (!regarding.namespace_.empty()) reference.Set("namespace", regarding.namespace_);
  reference.Set("name", regarding.name);
  const std::string uid =
      regarding.uid.empty() && regarding.kind == "Node" ? regarding.name : regarding.uid;
  if (!uid.empty()) reference.Set("uid", uid);
  return reference;
}

// There already: it was sent twice. Not there any more: it is older than the server keeps them.
base::Result<void> Outcome(const base::Result<base::Value>& answer) {
  using base::ErrorCode;
  if (answer.ok() || answer.error().code() == ErrorCode::kConflict ||
      answer.error().code() == ErrorCode::kNotFound)
    return {};
  return answer.error();
}

}  // namespace

std::string MicroTime(base::Clock::Wall time) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = static_cast<std::time_t>(micros / 1'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     micros % 1'000'000);
}

EventRecorder::EventRecorder(net::Loop& loop, Client& client, Random random, std::string instance)
    : loop_(loop),
      client_(client),
      instance_(std::move(instance)),
      window_(loop.NewTimer("events")),
      sending_(loop, "events-again", std::move(random), [this](const Retrying::Done& done) {
        SendNext(done);
      }) {
  if (instance_.size() > kMostInstance) instance_.resize(kMostInstance);
}

void EventRecorder::Record(const Regarding& regarding,
                           EventType type,
                           const std::string& reason,
                           const std::string& note,
                           const std::string& key) {
  CloseOld();
  const base::Clock::Wall now = loop_.clock().WallNow();
  Key identity{regarding.kind, regarding.namespace_, regarding.name, reason,
               key.empty() ? note : key};
  if (const auto found = known_.find(identity); found != known_.end()) {
    ++found->second.count;
    found->second.last = now;
    return;
  }
  if (known_.size() >= kMostKnown) return;
  // Objects without a namespace have theirs in "default", where kubectl looks.
  const std::string space = regarding.namespace_.empty() ? "default" : regarding.namespace_;
  Series series;
  series.folder = fmt::format("/apis/events.k8s.io/v1/namespaces/{}/events", space);
  series.name =
      EventName(regarding.name, fmt::format(".{:x}.{:x}", now.time_since_epoch().count(), made_++));
  series.first = loop_.clock().Now();
  series.last = now;
  base::Value event = base::Value::Map();
  event.Set("apiVersion", "events.k8s.io/v1")
      .Set("kind", "Event")
      .Set("metadata", base::Value::Map().Set("name", series.name).Set("namespace", space))
      .Set("eventTime", MicroTime(now))
      .Set("reportingController", kReporter)
      .Set("reportingInstance", instance_)
      .Set("action", reason)
      .Set("reason", reason)
      .Set("regarding", Reference(regarding))
      .Set("note", Note(note))
      .Set("type", type == EventType::kWarning ? "Warning" : "Normal");
  Send({.path = series.folder, .creates = true, .body = std::move(event)});
  known_.emplace(std::move(identity), std::move(series));
  if (!window_->armed()) window_->After(kWindow, [this] { CloseOld(); });
}

void EventRecorder::CloseOld() {
  const base::Clock::Steady now = loop_.clock().Now();
  std::optional<base::Clock::Steady> next;
  for (auto one = known_.begin(); one != known_.end();) {
    const Series& series = one->second;
    if (series.first + kWindow > now) {
      next = std::min(next.value_or(series.first), series.first);
      ++one;
      continue;
    }
    if (series.count > 1) {
      base::Value patch = base::Value::Map();
      patch.Set("series", base::Value::Map()
                              .Set("count", series.count)
                              .Set("lastObservedTime", MicroTime(series.last)));
      Send({.path = series.folder + "/" + PercentEncoded(series.name),
            .creates = false,
            .body = std::move(patch)});
    }
    one = known_.erase(one);
  }
  window_->Cancel();
  if (next) window_->After(*next + kWindow - now, [this] { CloseOld(); });
}

void EventRecorder::Send(Order order) {
  orders_.push_back(std::move(order));
  // The first one is on its way, or will be again: what comes of it is told to whatever is first.
  if (orders_.size() > kMostWaiting) orders_.erase(orders_.begin() + 1);
  if (sending_.at_rest()) sending_.Start();
}

void EventRecorder::SendNext(const Retrying::Done& done) {
  if (orders_.empty()) return done({});
  const Order& order = orders_.front();
  const auto answered = [this, done](const base::Result<base::Value>& object) {
    using base::ErrorCode;
    // Also what no server has answered: kube/client.h.
    const bool later = !object.ok() && (object.error().code() == ErrorCode::kUnavailable ||
                                        object.error().code() == ErrorCode::kTimeout);
    if (later) return done(object.error());
    // What is refused is refused again: it goes, and so does one that was sent twice.
    orders_.pop_front();
    if (ended_) ended_(Outcome(object));
    if (orders_.empty()) return done({});
    SendNext(done);
  };
  if (order.creates)
    client_.Create(order.path, order.body, answered);
  else
    client_.Patch(order.path, PatchKind::kMerge, order.body, answered);
}

}  // namespace partita::kube
