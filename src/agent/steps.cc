#include "agent/steps.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace partita::agent {
namespace {

std::int64_t Milliseconds(net::Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

Steps::Steps(net::Loop& loop,
             base::Log& log,
             std::vector<StartStep> start,
             std::vector<StopStep> stop)
    : loop_(loop),
      log_(log),
      start_(std::move(start)),
      stop_(std::move(stop)),
      late_(loop.NewTimer("step-deadline")) {}

void Steps::Start(net::Task started, std::function<void(base::Result<void>)> ended) {
  started_ = std::move(started);
  ended_ = std::move(ended);
  RunStart(0);
}

void Steps::Run(const std::string& name,
                std::optional<net::Duration> deadline,
                const std::function<void(Done)>& run,
                Done then) {
  current_ = name;
  const std::uint64_t running = ++running_;
  const auto begun = loop_.clock().Now();
  // Always from the loop: a list of steps that end at once does not grow the stack.
  const Done done = [this, running, begun, name, then = std::move(then)](base::Result<void> end) {
    loop_.Post([this, running, begun, name, then, end = std::move(end)] {
      if (running != running_) return;
      ++running_;
      late_->Cancel();
      current_.clear();
      log_.Debug("step done",
                 {{base::LogKey::kStep, name},
                  {base::LogKey::kDurationMs, Milliseconds(loop_.clock().Now() - begun)}});
      then(end);
    });
  };
  if (deadline) {
    late_->After(*deadline, [done, limit = *deadline] {
      done(
          base::MakeError(base::ErrorCode::kTimeout, "not done within {} ms", Milliseconds(limit)));
    });
  }
  run(done);
}

void Steps::RunStart(std::size_t index) {
  if (index == start_.size()) {
    if (started_) started_();
    return;
  }
  const StartStep& step = start_[index];
  begun_.insert(step.name);
  Run(step.name, step.deadline, step.run, [this, index](base::Result<void> end) {
    if (end.ok()) return RunStart(index + 1);
    end_ = std::move(end).error().Within(start_[index].name);
    Stop();
  });
}

void Steps::Stop() {
  if (std::exchange(stopping_, true)) return;
  // Whatever step runs no longer counts.
  ++running_;
  late_->Cancel();
  RunStop(0);
}

void Steps::RunStop(std::size_t index) {
  if (index == stop_.size()) {
    if (ended_) ended_(end_);
    return;
  }
  const StopStep& step = stop_[index];
  const bool begun = std::any_of(step.undoes.begin(), step.undoes.end(),
                                 [&](const std::string& name) { return begun_.contains(name); });
  if (!begun) return RunStop(index + 1);
  Run(step.name, step.deadline, step.run, [this, index](const base::Result<void>& end) {
    if (!end.ok()) {
      base::Log::Fields fields = {{base::LogKey::kStep, stop_[index].name}};
      for (base::LogField& field : base::ErrorFields(end.error()))
        fields.push_back(std::move(field));
      log_.Warn("stopping goes on without this step", fields);
    }
    RunStop(index + 1);
  });
}

}  // namespace partita::agent
