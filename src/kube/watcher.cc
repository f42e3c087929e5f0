#include "kube/watcher.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "kube/status.h"

namespace partita::kube {
namespace {

// The server ends each watch after a while, at a time of ours: not all at once.
constexpr double kShortestWatch = 300, kLongestWatch = 600;
// A stream that says nothing for longer than it should live, bookmarks included, is dead.
constexpr std::chrono::seconds kOverdue{30};

}  // namespace

Watcher::Watcher(Requests& requests,
                 std::string list_path,
                 std::string selector,
                 WatchEvents events)
    : requests_(requests),
      list_path_(std::move(list_path)),
      selector_(std::move(selector)),
      events_(std::move(events)),
      pause_(requests.loop().NewTimer(requests.name() + "-watch")) {}

void Watcher::Start() { List(); }

void Watcher::Stop() {
  stopped_ = true;
  pause_->Cancel();
  stream_.reset();
}

void Watcher::Again(net::Duration pause) {
  stream_.reset();
  streaming_ = false;
  lines_ = {};
  if (stopped_) return;
  pause_->After(pause, [this] {
    const auto self = shared_from_this();
    if (version_.empty())
      List();
    else
      Follow();
  });
}

void Watcher::Failed(const base::Error& error, std::optional<std::chrono::seconds> retry_after) {
  const auto self = shared_from_this();
  if (stopped_) return;
  // It served for a while: this is the first failure, not one more of many. Cut at once, it is the
  // second, so that one that is always cut is asked every one or two seconds.
  if (streaming_) failures_ = Lasted() ? 0 : 1;
  Again(BackoffDelay(++failures_, retry_after, requests_.Chance()));
  if (events_.failed) {
    events_.failed(requests_.Explained(error).Within("watch " + list_path_));
  }
}

void Watcher::FailedAt(int status, const base::Error& error, const net::HttpHeaders& headers) {
  // What happened since is forgotten there: only a list tells it.
  if (status == kGone) version_.clear();
  if (status == 401) (void)requests_.ReadCredentialsAgain();
  Failed(error, RetryAfter(headers));
}

void Watcher::List() {
  std::string path = list_path_;
  if (!selector_.empty()) path += "?" + selector_;
  requests_.Ask({.verb = "list", .method = "GET", .path = std::move(path)},
                [weak = weak_from_this()](base::Result<net::HttpClientAnswer> answer) {
                  const auto self = weak.lock();
                  if (self && !self->stopped_) self->Listed(std::move(answer));
                });
}

void Watcher::Listed(base::Result<net::HttpClientAnswer> answer) {
  if (!answer.ok()) return Failed(answer.error());
  const auto list = ObjectOf(*answer);
  if (!list.ok()) return FailedAt(answer->status, list.error(), answer->headers);
  if (const auto taken = TakeList(*list); !taken.ok()) return Failed(taken.error());
  if (stopped_) return;
  if (events_.synced) events_.synced();
  if (!stopped_) Follow();
}

base::Result<void> Watcher::TakeList(const base::Value& list) {
  const base::Value* items = list.Find("items");
  const std::string version = MetadataOf(list, "resourceVersion");
  if (items == nullptr || version.empty())
    return base::MakeError(base::ErrorCode::kInternal, "list {}: the answer is no list",
                           list_path_);
  std::set<ObjectName> there;
  // An empty list is null where the server's language says so.
  if (items->kind() == base::Value::Kind::kList) {
    for (const base::Value& object : items->items()) {
      there.insert(NameOf(object));
      Saw(object);
      if (stopped_) return {};
    }
  }
  const std::map<ObjectName, std::string> before = known_;
  for (const auto& [name, unused] : before) {
    if (!there.contains(name)) Lost(name);
    if (stopped_) return {};
  }
  version_ = version;
  return {};
}

void Watcher::Saw(const base::Value& object) {
  const std::string version = MetadataOf(object, "resourceVersion");
  std::string& known = known_[NameOf(object)];
  // A list that is made anew tells what is known already.
  if (!version.empty() && known == version) return;
  known = version;
  if (events_.seen) events_.seen(object);
}

void Watcher::Lost(const ObjectName& name) {
  if (known_.erase(name) > 0 && events_.gone) events_.gone(name);
}

void Watcher::Follow() {
  const auto life = std::chrono::seconds(
      static_cast<int>(kShortestWatch + (kLongestWatch - kShortestWatch) * requests_.Chance()));
  std::string path =
      fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                  list_path_, PercentEncoded(version_), life.count());
  if (!selector_.empty()) path += "&" + selector_;
  net::HttpClient::StreamEvents told;
  // The stream is ours and does not outlive us; what it tells may.
  told.begun = [this](const net::HttpClientAnswer& answer) { Begun(answer); };
  told.bytes = [this](std::string_view bytes) { Received(bytes); };
  told.ended = [this](const base::Result<void>& how) { Ended(how); };
  auto stream = requests_.Watch(path, life + kOverdue, std::move(told));
  if (!stream.ok()) return Failed(stream.error());
  stream_ = *std::move(stream);
  begun_ = requests_.loop().clock().Now();
}

void Watcher::Begun(const net::HttpClientAnswer& answer) {
  const auto self = shared_from_this();
  if (answer.status != 200)
    return FailedAt(answer.status, ErrorOfAnswer(answer.status, answer.body), answer.headers);
  streaming_ = true;
  begun_ = requests_.loop().clock().Now();
  if (failures_ > 0 && events_.resumed) events_.resumed();
}

void Watcher::Received(std::string_view bytes) {
  const auto self = shared_from_this();
  const auto added = lines_.Add(bytes, [this](std::string_view line) { return Take(line); });
  if (added.ok()) return;
  // Whatever stands in that line comes again from the same version, without an end.
  version_.clear();
  Failed(added.error());
}

bool Watcher::Take(std::string_view line) {
  const auto event = ReadWatchEvent(line);
  if (!event.ok()) {
    // Something was changed that cannot be told from this: the list can.
    version_.clear();
    Failed(event.error());
    return false;
  }
  const base::Value& object = event->object;
  if (event->kind == WatchEvent::Kind::kError) {
    const int code = CodeOfStatus(object);
    FailedAt(code, ErrorOfStatus(code, object));
    return false;
  }
  if (const std::string version = MetadataOf(object, "resourceVersion"); !version.empty())
    version_ = version;
  if (event->kind == WatchEvent::Kind::kDeleted)
    Lost(NameOf(object));
  else if (event->kind != WatchEvent::Kind::kBookmark)
    Saw(object);
  return !stopped_ && stream_ != nullptr;
}

bool Watcher::Lasted() const { return requests_.loop().clock().Now() - begun_ >= kShort; }

void Watcher::Ended(const base::Result<void>& how) {
  const auto self = shared_from_this();
  // It was not begun: what it answered instead has been told.
  if (stopped_ || stream_ == nullptr) return;
  if (!streaming_)
    return Failed(how.ok() ? base::Error(base::ErrorCode::kUnavailable, "no stream") : how.error());
  if (Lasted() && how.ok()) {
    failures_ = 0;
    return Again({});
  }
  Failed(how.ok() ? base::Error(base::ErrorCode::kUnavailable, "the server ends it at once")
                  : how.error());
}

}  // namespace partita::kube
