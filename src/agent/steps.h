// Starting and stopping as two lists of named steps, each with a deadline. They run on the loop:
// a step that waits for something calls back, and signals are served meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "net/loop.h"

namespace partita::agent {

// To be called once, at once or later, on the loop's thread; more than once, or too late, is
// ignored.
using Done = std::function<void(base::Result<void>)>;

struct StartStep {
  std::string name;
  std::optional<net::Duration> deadline;  // absent: it may take as long as it takes
  std::function<void(Done)> run;
};

// Undoes what the start steps of these names did; it is run if one of them was begun, also if that
// one failed.
struct StopStep {
  std::string name;
  net::Duration deadline;
  std::function<void(Done)> run;
  std::vector<std::string> undoes;
};

// Loop's thread only.
class Steps {
 public:
  Steps(net::Loop& loop, base::Log& log, std::vector<StartStep> start, std::vector<StopStep> stop);

  // One after the other. Where one fails or is late, what was begun is stopped, and `ended` gets
  // the error with the step's name; else `started` is called.
  void Start(net::Task started, std::function<void(base::Result<void>)> ended);
  // In the order of the stop list, to its end whatever happens: a step that is late or fails is
  // told and passed over. While starting it ends the start. `ended` is called once.
  void Stop();
  [[nodiscard]] bool stopping() const { return stopping_; }
  // Of the step that runs; empty when none does.
  [[nodiscard]] const std::string& current() const { return current_; }

 private:
  void RunStart(std::size_t index);
  void RunStop(std::size_t index);
  // Runs a step: `then` gets its end, or kTimeout.
  void Run(const std::string& name,
           std::optional<net::Duration> deadline,
           const std::function<void(Done)>& run,
           Done then);

  net::Loop& loop_;
  base::Log& log_;
  std::vector<StartStep> start_;
  std::vector<StopStep> stop_;
  std::unique_ptr<net::Timer> late_;
  std::set<std::string> begun_;
  std::string current_;
  std::uint64_t running_ = 0;  // which run of a step counts: the answer of an earlier one does not
  bool stopping_ = false;
  base::Result<void> end_;
  net::Task started_;
  std::function<void(base::Result<void>)> ended_;
};

}  // namespace partita::agent
