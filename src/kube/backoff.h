// How long to wait before something that failed is tried again. Pure: chance is handed over.
//
// At most 30 s, not the design's 60: after a minute's outage a node is back within half of one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/loop.h"

namespace partita::kube {

// At least 0, less than 1.
using Random = std::function<double()>;
// Seeded by the kernel.
[[nodiscard]] Random SystemRandom();

struct BackoffLimits {
  net::Duration first = std::chrono::seconds(1);
  net::Duration most = std::chrono::seconds(30);
};

// After `failures` (1 is the first) in a row: twice as long each time, of which the second half is
// left to chance, so that a thousand nodes that lost one server do not come back at once.
[[nodiscard]] net::Duration BackoffDelay(int failures, double chance, BackoffLimits limits = {});

// The same where the server said how long to stay away: never less, and a bit more by chance.
// More than five minutes nobody is sent away for.
[[nodiscard]] net::Duration BackoffDelay(int failures,
                                         std::optional<std::chrono::seconds> retry_after,
                                         double chance,
                                         BackoffLimits limits = {});

// Something that must become true, tried until it does. Loop's thread only; destroyed, it ends.
class Retrying {
 public:
  using Done = std::function<void(base::Result<void>)>;
  // Calls back once; an error is tried again after a while.
  using Attempt = std::function<void(Done)>;

  Retrying(net::Loop& loop, const std::string& name, Random random, Attempt attempt);
  Retrying(const Retrying&) = delete;
  Retrying& operator=(const Retrying&) = delete;
  ~Retrying();

  // Now, or once more after the attempt that is under way: what it is about has changed.
  void Start();
  // Until the next Start. An attempt that is under way ends for nobody.
  void Stop();
  [[nodiscard]] bool at_rest() const { return !running_ && !timer_->armed(); }
  // An attempt has begun and not ended: what it is about may be old by now.
  [[nodiscard]] bool under_way() const { return running_; }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  void Run();
  void Ended(const base::Result<void>& how);

  std::unique_ptr<net::Timer> timer_;
  Random random_;
  Attempt attempt_;
  std::shared_ptr<Retrying*> self_;  // null once nobody waits for the attempt under way
  bool running_ = false;
  bool again_ = false;
  int failures_ = 0;
};

}  // namespace partita::kube
