#include "base/log.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"

namespace partita::base {
namespace {

// A line that a person reads, and that the journal does not cut (48 KiB).
constexpr std::size_t kMostText = 4096;

std::string_view Name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarn: return "warn";
    case LogLevel::kError: return "error";
  }
  return "";
}

// syslog's numbers, as sd-daemon(3) wants them before a line.
int Severity(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return 7;
    case LogLevel::kInfo: return 6;
    case LogLevel::kWarn: return 4;
    case LogLevel::kError: return 3;
  }
  return 3;
}

std::string Rfc3339(Clock::Wall time) {
  const auto since =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const time_t seconds = static_cast<time_t>(since / 1000);
  struct tm parts {};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     since % 1000);
}

std::string Cut(std::string_view text) {
  if (text.size() <= kMostText) return std::string(text);
  return std::string(CutAtCharacter(text, kMostText)) + "…";
}

// As it is where nothing in it could be mistaken, else as a JSON string.
std::string Plain(const Value& value) {
  if (value.kind() != Value::Kind::kString) return ToJsonLine(value);
  // Problems of a file are several lines; JSON's escapes keep them on one.
  const std::string text = Printable(Cut(value.AsString()), "\n");
  const bool bare = !text.empty() && text.find_first_of(" \"=\\\n") == std::string::npos;
  return bare ? text : JsonString(text);
}

std::string TextFields(std::string_view message, const Log::Fields& fields) {
  std::string text = Printable(Cut(message));
  for (const LogField& field : fields)
    text += fmt::format(" {}={}", ToString(field.key), Plain(field.value));
  return text;
}

}  // namespace

std::string FormatLogLine(LogFormat format,
                          LogLevel level,
                          Clock::Wall time,
                          std::string_view message,
                          const Log::Fields& fields) {
  switch (format) {
    case LogFormat::kText:
      return fmt::format("{} {:<5} {}", Rfc3339(time), Name(level), TextFields(message, fields));
    case LogFormat::kJournal:
      return fmt::format("<{}>{}", Severity(level), TextFields(message, fields));
    case LogFormat::kJson: break;
  }
  Value line = Value::Map();
  line.Set("time", Rfc3339(time)).Set("level", Name(level)).Set("message", Cut(message));
  for (const LogField& field : fields) {
    const bool text = field.value.kind() == Value::Kind::kString;
    line.Set(std::string(ToString(field.key)),
             text ? Value(Cut(field.value.AsString())) : field.value);
  }
  return ToJsonLine(line);
}

void Log::Write(LogLevel level, std::string_view message, const Fields& fields) {
  if (level < level_.load()) return;
  const std::string line =
      FormatLogLine(format_.load(), level, clock_.WallNow(), message, fields) + "\n";
  const std::lock_guard lock(mutex_);
  sink_(line);
}

Log::Sink StandardErrorSink() {
  return [](std::string_view line) {
    while (write(STDERR_FILENO, line.data(), line.size()) < 0 && errno == EINTR) {
    }
  };
}

bool StandardErrorIsJournal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (stream == nullptr || fstat(STDERR_FILENO, &status) != 0) return false;
  return fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

Log::Fields ErrorFields(const Error& error) {
  Log::Fields fields = {{LogKey::kError, error.ToString()}};
  if (!error.hint().empty()) fields.push_back({LogKey::kHint, error.hint()});
  return fields;
}

void RepeatedFailure::Failed(const Error& error, Log::Fields fields, LogLevel level) {
  ++attempts_;
  const std::string text = error.ToString();
  if (attempts_ > 1 && text == last_) return;
  last_ = text;
  if (attempts_ > 1) fields.push_back({LogKey::kAttempt, attempts_});
  for (LogField& field : ErrorFields(error)) fields.push_back(std::move(field));
  log_.Write(level, what_, fields);
}

void RepeatedFailure::Succeeded(Log::Fields fields) {
  if (attempts_ == 0) return;
  fields.push_back({LogKey::kAttempt, attempts_ + 1});
  log_.Info(what_ + ": over, it works again", fields);
  attempts_ = 0;
  last_.clear();
}

}  // namespace partita::base
