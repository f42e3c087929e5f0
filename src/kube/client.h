// The API server, as services and the agent see it: objects as values, by their path.
//
// As designed for issue 12, but: Patch takes its kind (a merge of JSON replaces whole lists; the
// strategic one knows that conditions are keyed); the design's kPermission is kDenied and its
// "kGone-like" kConflict; a watch also tells its failures, for the log.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"
#include "kube/access.h"
#include "kube/backoff.h"
#include "net/loop.h"

namespace partita::kube {

struct ObjectName {
  std::string namespace_;  // empty: it has none
  std::string name;
  auto operator<=>(const ObjectName&) const = default;
};
[[nodiscard]] ObjectName NameOf(const base::Value& object);

struct WatchEvents {
  // It is like this now. Changes that follow each other quickly may be told as one.
  std::function<void(const base::Value& object)> seen{};
  std::function<void(const ObjectName& object)> gone{};
  // All that was there was told: after the first list, and after each that was made anew.
  std::function<void()> synced{};
  // It is tried again; what was told before stays true until something else is. May be empty.
  std::function<void(const base::Error& error)> failed{};
  // After a failure the server serves it again, from where it was. May be empty.
  std::function<void()> resumed{};
};

// Destroyed, it tells nothing any more; also from inside of what it tells.
class Watching {
 public:
  Watching() = default;
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  virtual ~Watching() = default;
};

enum class PatchKind : std::uint8_t {
  kMerge,      // RFC 7396: null removes, lists are replaced
  kStrategic,  // Kubernetes' own, for its own kinds: lists of conditions are merged by type
};

// How many requests were sent, by verb and resource: "patch nodes", "watch configmaps".
using RequestCounts = std::map<std::string, std::uint64_t, std::less<>>;

// Loop's thread only. Answers come once, on the loop, never from within the call. Errors are those
// of kube/status.h where a server has answered; where none has, whatever is wrong, kUnavailable or
// kTimeout.
class Client {
 public:
  using Answer = std::function<void(base::Result<base::Value> object)>;

  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  // Answers that are still due never come. Watches go before it.
  virtual ~Client() = default;

  // Paths as the API has them: "/api/v1/nodes/node-1".
  virtual void Get(std::string path, Answer answer) = 0;
  // Into a collection.
  virtual void Create(std::string path, base::Value object, Answer answer) = 0;
  // Whole; one with a resourceVersion that is not the newest is kConflict.
  virtual void Update(std::string path, base::Value object, Answer answer) = 0;
  virtual void Delete(std::string path, Answer answer) = 0;
  // Server-side apply: the fields of `object` become ours and are as it says, those that were ours
  // and are not in it any more go, and nobody else's are touched. A field that another manager owns
  // with another value is kConflict, unless forced.
  virtual void Apply(std::string path,
                     std::string field_manager,
                     bool force,
                     base::Value object,
                     Answer answer) = 0;
  virtual void Patch(std::string path, PatchKind kind, base::Value patch, Answer answer) = 0;
  // A collection, or what a selector leaves of it ("" or FieldSelector's). Listed, then watched
  // from there on for as long as it lives: streams that end or break, 410, 429, 5xx and an outage
  // cost time and never a change.
  [[nodiscard]] virtual std::unique_ptr<Watching> Watch(std::string list_path,
                                                        std::string selector,
                                                        WatchEvents events) = 0;
  [[nodiscard]] virtual const RequestCounts& counts() const = 0;
};

// "fieldSelector=metadata.name%3Dnode-1".
[[nodiscard]] std::string FieldSelector(std::string_view field, std::string_view value);
// What stands in a path or query as itself.
[[nodiscard]] std::string PercentEncoded(std::string_view text);

// The real one. `name` is that of its wake-ups, `user_agent` what the server's log calls us.
[[nodiscard]] std::unique_ptr<Client> NewClient(
    net::Loop& loop, std::string name, Access access, Random random, std::string user_agent);

}  // namespace partita::kube
