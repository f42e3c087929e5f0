// create-symlinks: links in the container to the driver's files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/call.h"
#include "hook/report.h"

namespace partita::hook {

struct LinkToMake {
  std::string target;  // the link's text, never resolved
  std::string path;    // inside the container
  bool operator==(const LinkToMake&) const = default;
};

// `--link TARGET::PATH`, once each.
[[nodiscard]] base::Result<std::vector<LinkToMake>> ParseLinks(std::span<const std::string> links);

// In the place of what is there; a link that is right is left alone.
[[nodiscard]] base::Result<void> CreateSymlinks(const HookCall& call,
                                                std::span<const LinkToMake> links);

[[nodiscard]] base::Result<void> RunCreateSymlinks(std::span<const std::string> arguments,
                                                   CallInput& input,
                                                   const Report& report);

}  // namespace partita::hook
