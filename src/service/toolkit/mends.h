// Commands that mend a host, to be pasted into a shell as they are.
#pragma once

#include <string>
#include <string_view>

#include "service/toolkit/host_facts.h"

namespace partita::service::toolkit {

[[nodiscard]] std::string Generate(std::string_view path, std::string_view more = "");
// Root's alone to write: a file or folder; a program and the folder that it is in.
[[nodiscard]] std::string CloseFile(const std::string& path);
[[nodiscard]] std::string CloseProgram(const std::string& path);
// All capability nodes that are missing; empty where the driver has no number for them.
[[nodiscard]] std::string MakeCapabilities(const HostFacts& facts);

}  // namespace partita::service::toolkit
