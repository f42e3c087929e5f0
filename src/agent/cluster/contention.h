// Something of ours in the cluster that somebody else changes: undone with growing pauses where he
// does it again, since two that write the same would go on for ever.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "kube/backoff.h"
#include "net/loop.h"

namespace partita::agent {

// Loop's thread only. The loop outlives it.
class Contention {
 public:
  static constexpr kube::BackoffLimits kPauses{std::chrono::seconds(1), std::chrono::minutes(5)};
  // What stayed for so long was not lost to the one of before.
  static constexpr std::chrono::hours kForgotten{1};

  Contention(net::Loop& loop, const std::string& name, kube::Random random);
  Contention(const Contention&) = delete;
  Contention& operator=(const Contention&) = delete;
  ~Contention() = default;

  // It was seen as it should be.
  void Settled() { settled_ = true; }
  // What should be is new, or where it should be is: that something else is there is nobody's
  // doing.
  void Anew();
  // It was seen to be something else. `mend` is called at once, or after a pause where somebody
  // made it so; while there is a pause already, not once more. Where a pause begins: how often it
  // was lost by now; else 0.
  int Lost(const net::Task& mend);

 private:
  net::Loop& loop_;
  kube::Random random_;
  std::unique_ptr<net::Timer> pause_;
  bool settled_ = false;
  int lost_ = 0;
  base::Clock::Steady lost_at_{};
};

}  // namespace partita::agent
