// The `version:` of the files that other programs write and read too.
#pragma once

#include <string_view>

#include "config/document.h"
#include "config/problems.h"

namespace partita::config {

// A problem when it is absent or another one.
void RequireVersion(const Node& root, std::string_view version, Problems& problems);

}  // namespace partita::config
