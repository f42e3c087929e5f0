#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "config/hooks_file.h"

namespace partita::service::mig {

struct HookOptions {
  std::map<std::string, std::string> variables;  // of the command's flags
  // For hooks whose entries name none; absent: as long as they take.
  std::optional<std::chrono::milliseconds> limit;
  std::string directory = {};               // of programs that name none; empty: here
  const std::atomic<bool>* stop = nullptr;  // set by a signal: ends the hook that runs
  // What a program wrote, when it failed or `starts` is set.
  std::function<void(const std::string& output)> wrote;
  std::function<void(std::string_view point, const std::string& command)> starts;
};

// Programs of a hooks file around a change. Each sees the variables that the file gives it, then
// those of the command's flags, and nothing else.
class HookRunner {
 public:
  HookRunner(config::HooksFile hooks, HookOptions options)
      : hooks_(std::move(hooks)), options_(std::move(options)) {}

  // In order; the first failure ends it, and so does a stop.
  [[nodiscard]] base::Result<void> Run(std::string_view point) const;
  // Whether there is anything to run.
  [[nodiscard]] bool Has(std::string_view point) const { return !hooks_.At(point).empty(); }

 private:
  config::HooksFile hooks_;
  HookOptions options_;
};

}  // namespace partita::service::mig
