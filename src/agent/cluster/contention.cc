#include "agent/cluster/contention.h"

#include <utility>

namespace partita::agent {

Contention::Contention(net::Loop& loop, const std::string& name, kube::Random random)
    : loop_(loop), random_(std::move(random)), pause_(loop.NewTimer(name)) {}

void Contention::Anew() {
  settled_ = false;
  pause_->Cancel();
}

int Contention::Lost(const net::Task& mend) {
  if (pause_->armed()) return 0;
  if (!std::exchange(settled_, false)) {
    mend();
    return 0;
  }
  const base::Clock::Steady now = loop_.clock().Now();
  if (now - std::exchange(lost_at_, now) > kForgotten) lost_ = 0;
  pause_->After(kube::BackoffDelay(++lost_, random_(), kPauses), mend);
  return lost_;
}

}  // namespace partita::agent
