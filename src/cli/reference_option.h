// An option of one of the reference's programs, for --help, completion and the man page.
#pragma once

#include "base/command_line.h"
#include "config/plugin_config_options.h"

namespace partita::cli {

[[nodiscard]] base::Option ReferenceOption(const config::PluginOption& option);

}  // namespace partita::cli
