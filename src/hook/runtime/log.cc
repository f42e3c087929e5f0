#include "hook/runtime/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/files.h"
#include "base/json.h"
#include "base/value.h"

namespace partita::hook {
namespace {

struct Word {
  std::string_view word;
  RuntimeLog::Level level;
};
using Level = RuntimeLog::Level;
// The first of a level is how lines have it.
constexpr std::array kWords = {Word{"error", Level::kError},  Word{"fatal", Level::kError},
                               Word{"panic", Level::kError},  Word{"warning", Level::kWarning},
                               Word{"warn", Level::kWarning}, Word{"info", Level::kInfo},
                               Word{"debug", Level::kDebug},  Word{"trace", Level::kDebug}};

// "2026-11-16T08:00:00Z"; libc's own would read the time zone's file.
std::string Time(std::time_t now) {
  const std::chrono::sys_seconds seconds{std::chrono::seconds(now)};
  const auto days = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(seconds - days);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

// JSON is read by programs; this by whoever may sit at a terminal.
std::string QuotedText(std::string_view text) {
  return base::ToJsonLine(base::Value(base::Printable(text, "\n\t")));
}

base::Result<base::UniqueFd> OpenLogFile(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash != 0)
    TRY_VOID(base::MakeDirectories(path.substr(0, slash), 0755));
  // O_NONBLOCK: a FIFO that nobody reads must not keep a container waiting.
  base::UniqueFd file(
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644));
  if (!file.valid()) return base::ErrnoError(fmt::format("open {}", path));
  return file;
}

}  // namespace

std::string LogLine(std::string_view level, std::string_view text, std::time_t now, bool json) {
  if (json) {
    return base::ToJsonLine(
               base::Value::Map().Set("level", level).Set("msg", text).Set("time", Time(now))) +
           "\n";
  }
  return fmt::format("time=\"{}\" level={} msg={}\n", Time(now), level, QuotedText(text));
}

std::optional<Level> RuntimeLog::ParseLevel(std::string_view word) {
  for (const Word& row : kWords) {
    if (row.word == word) return row.level;
  }
  return std::nullopt;
}

RuntimeLog::RuntimeLog(std::string program)
    : report_(std::move(program), Report::Level::kWarning) {}

void RuntimeLog::Open(const std::vector<std::string>& files, bool json, Level level) {
  json_ = json;
  level_ = level;
  for (const std::string& path : files) {
    if (path.empty() || path == "/dev/null") continue;
    base::Result<base::UniqueFd> file = OpenLogFile(path);
    if (file.ok())
      files_.push_back(*std::move(file));
    else
      Warning("failed to open log file: " + file.error().ToString());
  }
}

void RuntimeLog::Write(Level level, std::string_view text) {
  if (files_.empty() || level > level_) return;
  std::string_view word;
  for (const Word& row : kWords) {
    if (row.level == level && word.empty()) word = row.word;
  }
  const std::string line = LogLine(word, Shortened(text), std::time(nullptr), json_);
  for (const base::UniqueFd& file : files_) {
    // Nobody is left to be told that this failed.
    [[maybe_unused]] const ssize_t written = write(file.get(), line.data(), line.size());
  }
}

void RuntimeLog::Error(const base::Error& error) {
  report_.Error(error);
  const std::string hint = error.hint().empty() ? "" : fmt::format(" ({})", error.hint());
  Write(Level::kError, error.ToString() + hint);
}

void RuntimeLog::Warning(std::string_view text) {
  report_.Warning(text);
  Write(Level::kWarning, text);
}

void RuntimeLog::Info(std::string_view text) { Write(Level::kInfo, text); }
void RuntimeLog::Debug(std::string_view text) { Write(Level::kDebug, text); }

}  // namespace partita::hook
