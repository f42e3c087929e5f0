// This program under the name nvidia-mig-parted: the commands, flags, environment variables, result
// lines, error texts and exit statuses of NVIDIA's partition editor, so that units and scripts that
// call it work unchanged. What a change does is what `partita mig` does.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "config/hooks_file.h"

namespace partita::cli {

inline constexpr std::string_view kMigPartedName = "nvidia-mig-parted";

[[nodiscard]] base::Program MakeMigPartedProgram();

// Every error ends with status 1, unless --exit-codes=extended asks for partita's own.
int MigPartedMain(int argc, char** argv);

// Programs of a hooks file around a change. Each sees the variables that the file gives it, then
// those of the command's flags, and nothing else.
class HookRunner {
 public:
  // `limit` is for hooks whose entries name none; absent: as long as they take.
  HookRunner(config::HooksFile hooks,
             std::map<std::string, std::string> flags,
             bool debug,
             std::optional<std::chrono::milliseconds> limit = std::nullopt)
      : hooks_(std::move(hooks)), flags_(std::move(flags)), debug_(debug), limit_(limit) {}

  // In order; the first failure ends it, and so does StopFlag(). What a program wrote is shown when
  // it fails, or always with debug.
  [[nodiscard]] base::Result<void> Run(std::string_view point) const;

 private:
  config::HooksFile hooks_;
  std::map<std::string, std::string> flags_;
  bool debug_;
  std::optional<std::chrono::milliseconds> limit_;
};

}  // namespace partita::cli
