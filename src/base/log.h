// What a program that runs on has to say: one line an event, with fields from a fixed list of keys.
// One Log is made in main and handed down. What may be secret (tokens, environments, request
// bodies) is never a field.
//
// warn: somebody should look. error: a duty is not being met. A failure that the program goes on
// from ends with what it does instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log_keys.h"
#include "base/result.h"
#include "base/value.h"

namespace partita::base {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };
enum class LogFormat : std::uint8_t {
  kText,     // 2026-01-01T00:00:00.000Z warn  message key=value key="two words"
  kJson,     // {"time":…,"level":…,"message":…,"key":…}
  kJournal,  // <4>message key=value: systemd knows time and takes the level from the number
};

struct LogField {
  LogKey key;
  Value value;
};

class Log {
 public:
  // Gets whole lines with their newline, one at a time, from any thread.
  using Sink = std::function<void(std::string_view line)>;

  // The clock outlives it.
  Log(const Clock& clock, Sink sink) : clock_(clock), sink_(std::move(sink)) {}

  // Any thread. Info and text until told otherwise.
  void SetLevel(LogLevel level) { level_ = level; }
  void SetFormat(LogFormat format) { format_ = format; }

  using Fields = std::vector<LogField>;
  void Debug(std::string_view message, const Fields& fields = {}) {
    Write(LogLevel::kDebug, message, fields);
  }
  void Info(std::string_view message, const Fields& fields = {}) {
    Write(LogLevel::kInfo, message, fields);
  }
  void Warn(std::string_view message, const Fields& fields = {}) {
    Write(LogLevel::kWarn, message, fields);
  }
  void Error(std::string_view message, const Fields& fields = {}) {
    Write(LogLevel::kError, message, fields);
  }
  void Write(LogLevel level, std::string_view message, const Fields& fields);

 private:
  const Clock& clock_;
  Sink sink_;
  std::mutex mutex_;
  std::atomic<LogLevel> level_ = LogLevel::kInfo;
  std::atomic<LogFormat> format_ = LogFormat::kText;
};

// The line without a newline; controls in texts become "?", long texts are cut.
[[nodiscard]] std::string FormatLogLine(LogFormat format,
                                        LogLevel level,
                                        Clock::Wall time,
                                        std::string_view message,
                                        const Log::Fields& fields);

// To standard error, each line with one write. A reader that is gone costs lines, nothing else.
[[nodiscard]] Log::Sink StandardErrorSink();
// Whether standard error is systemd's journal (JOURNAL_STREAM).
[[nodiscard]] bool StandardErrorIsJournal();

// The fields of an error: what, and what to do.
[[nodiscard]] Log::Fields ErrorFields(const Error& error);

// One thing that is tried again and again. A failure is told when it is the first, when it is
// another one, and when it is over, with how often it was tried; not each time. One thread.
class RepeatedFailure {
 public:
  // `what` as the message says it: "cannot read GPUs". The log outlives it.
  RepeatedFailure(Log& log, std::string what) : log_(log), what_(std::move(what)) {}

  void Failed(const Error& error, Log::Fields fields = {}, LogLevel level = LogLevel::kWarn);
  void Succeeded(Log::Fields fields = {});
  [[nodiscard]] std::uint64_t attempts() const { return attempts_; }

 private:
  Log& log_;
  std::string what_;
  std::uint64_t attempts_ = 0;  // failed ones, since it last worked
  std::string last_;
};

}  // namespace partita::base
