// What a hook tells whoever started it: lines on standard error.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::hook {

// A message of at most about 4 KiB, beginning and end: images and users choose what is quoted in
// it.
[[nodiscard]] std::string Shortened(std::string_view text);

class Report {
 public:
  enum class Level { kError, kWarning, kDebug };  // the most that is told
  Report(std::string program, Level level) : program_(std::move(program)), level_(level) {}

  // "nvidia-cdi-hook: error: what", then the hint. One line each, whatever is in them: texts come
  // from images.
  void Error(const base::Error& error) const;
  void Warning(std::string_view text) const;
  // A warning that no wish for quiet hides: the container may lack a protection.
  void NotDone(std::string_view text) const;
  void Debug(std::string_view text) const;

 private:
  void Line(std::string_view level, std::string_view text) const;

  std::string program_;
  Level level_;
};

}  // namespace partita::hook
