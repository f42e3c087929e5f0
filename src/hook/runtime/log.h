// What the runtime says, where engines look: standard error, the file of --log in the form that
// --log-format names (containerd shows the last error in it), and a file of its own.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "hook/report.h"

namespace partita::hook {

class RuntimeLog {
 public:
  enum class Level : std::uint8_t { kError, kWarning, kInfo, kDebug };
  // As logrus, which runc logs with, calls them; "warn", "warning", "fatal"…
  [[nodiscard]] static std::optional<Level> ParseLevel(std::string_view word);

  explicit RuntimeLog(std::string program);

  // "" and /dev/null: none. Directories are made. One that cannot be opened is a warning.
  void Open(const std::vector<std::string>& files, bool json, Level level);

  // Error and warning: on standard error too.
  void Error(const base::Error& error);
  void Warning(std::string_view text);
  void Info(std::string_view text);
  void Debug(std::string_view text);

 private:
  void Write(Level level, std::string_view text);

  Report report_;
  std::vector<base::UniqueFd> files_;
  bool json_ = false;
  Level level_ = Level::kInfo;
};

// With a newline; the time in seconds since 1970.
[[nodiscard]] std::string LogLine(std::string_view level,
                                  std::string_view text,
                                  std::time_t now,
                                  bool json);

}  // namespace partita::hook
