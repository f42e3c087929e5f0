#include "kube/backoff.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace partita::kube {

Random SystemRandom() {
  auto engine = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0, 1)(*engine); };
}

net::Duration BackoffDelay(int failures, double chance, BackoffLimits limits) {
  const int doublings = std::clamp(failures - 1, 0, 30);
  const double whole = std::min(std::ldexp(static_cast<double>(limits.first.count()), doublings),
                                static_cast<double>(limits.most.count()));
  return net::Duration(static_cast<net::Duration::rep>(whole / 2 * (1 + chance)));
}

net::Duration BackoffDelay(int failures,
                           std::optional<std::chrono::seconds> retry_after,
                           double chance,
                           BackoffLimits limits) {
  const net::Duration own = BackoffDelay(failures, chance, limits);
  if (!retry_after) return own;
  constexpr std::chrono::seconds kLongest{300};
  const net::Duration asked = std::clamp(*retry_after, std::chrono::seconds(0), kLongest);
  const auto more =
      static_cast<net::Duration::rep>(static_cast<double>(limits.first.count()) * chance);
  return std::max(own, asked + net::Duration(more));
}

Retrying::Retrying(net::Loop& loop, const std::string& name, Random random, Attempt attempt)
    : timer_(loop.NewTimer(name)), random_(std::move(random)), attempt_(std::move(attempt)) {}

Retrying::~Retrying() { Stop(); }

void Retrying::Start() {
  if (running_) {
    again_ = true;
    return;
  }
  Run();
}

void Retrying::Stop() {
  timer_->Cancel();
  if (self_) *self_ = nullptr;
  self_.reset();
  running_ = again_ = false;
  failures_ = 0;
}

void Retrying::Run() {
  timer_->Cancel();
  running_ = true;
  again_ = false;
  self_ = std::make_shared<Retrying*>(this);
  attempt_([self = self_](const base::Result<void>& how) {
    if (Retrying* retrying = std::exchange(*self, nullptr)) retrying->Ended(how);
  });
}

void Retrying::Ended(const base::Result<void>& how) {
  running_ = false;
  if (how.ok()) {
    failures_ = 0;
    if (again_) Run();
    return;
  }
  // What changed meanwhile is tried with the next attempt: a server in trouble is not hurried.
  timer_->After(BackoffDelay(++failures_, random_()), [this] { Run(); });
}

}  // namespace partita::kube
