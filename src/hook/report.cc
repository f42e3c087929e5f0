#include "hook/report.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/characters.h"

namespace partita::hook {

std::string Shortened(std::string_view text) {
  constexpr std::size_t kBegin = 3072, kEnd = 1024;
  if (text.size() <= kBegin + kEnd) return std::string(text);
  return fmt::format("{} [{} bytes more] {}", text.substr(0, kBegin), text.size() - kBegin - kEnd,
                     text.substr(text.size() - kEnd));
}

void Report::Line(std::string_view level, std::string_view text) const {
  const std::string line =
      fmt::format("{}: {}: {}\n", program_, level, base::Printable(Shortened(text)));
  // Nobody is left to be told that this failed.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void Report::Error(const base::Error& error) const {
  Line("error", error.ToString());
  if (!error.hint().empty()) Line("hint", error.hint());
}

void Report::Warning(std::string_view text) const {
  if (level_ != Level::kError) Line("warning", text);
}

void Report::NotDone(std::string_view text) const { Line("warning", text); }

void Report::Debug(std::string_view text) const {
  if (level_ == Level::kDebug) Line("debug", text);
}

}  // namespace partita::hook
