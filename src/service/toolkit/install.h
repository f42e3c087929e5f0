// partita-hook put onto a host, under all the names that engines and CDI files call it by.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::service::toolkit {

// The reference's programs whose place partita-hook takes.
[[nodiscard]] std::span<const std::string_view> HookProgramNames();

struct InstalledToolkit {
  std::string program;               // the installed partita-hook
  std::vector<std::string> changed;  // what was not yet as it is now; empty: nothing was touched
  bool operator==(const InstalledToolkit&) const = default;
};

// Copies the program `hook` to DIRECTORY/partita-hook and links its names to it. Whoever starts one
// of them meanwhile runs the old program or the new one. What is there already is left alone.
[[nodiscard]] base::Result<InstalledToolkit> InstallToolkit(const std::string& hook,
                                                            const std::string& directory);

}  // namespace partita::service::toolkit
