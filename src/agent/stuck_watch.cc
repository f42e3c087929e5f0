#include "agent/stuck_watch.h"

#include <utility>

namespace partita::agent {
namespace {

constexpr std::chrono::seconds kStep{5};

}  // namespace

StuckWatch::StuckWatch(net::Loop& loop, Told told)
    : loop_(loop),
      told_(std::move(told)),
      timer_(loop.NewTimer("stuck")),
      time_(std::chrono::milliseconds(500)) {}

void StuckWatch::Check() {
  if (timer_->armed() || told_.calls().empty()) return;
  lasted_ = {};
  Begin();
}

void StuckWatch::Begin() {
  time_.Begin(loop_.clock().Now(), kStep);
  timer_->After(kStep, [this] { Step(); });
}

void StuckWatch::Step() {
  lasted_ += time_.End(loop_.clock().Now());
  const std::string calls = told_.calls();
  if (calls.empty()) {
    if (std::exchange(was_stuck_, false)) told_.over();
    return;
  }
  Begin();
  if (lasted_ < kPatience) return;
  was_stuck_ = true;
  told_.stuck(calls);
}

void StuckWatch::Stop() { timer_->Cancel(); }

}  // namespace partita::agent
