// What every command takes that looks at the machine or draws, read once.
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/output_format.h"
#include "base/result.h"
#include "cli/draw/drawing.h"
#include "cli/draw/terminal.h"
#include "service/inventory/reader.h"

namespace partita::cli {

struct CommandOptions {
  service::inventory::ReaderOptions reader;  // --host-root, --driver-root, --library
  base::OutputFormat format = base::OutputFormat::kText;
  LookWish wish;                  // --width, --color, --ascii
  Look look;                      // what that is on standard output
  std::vector<std::string> gpus;  // of --gpu; empty: all
};

[[nodiscard]] base::Result<CommandOptions> ReadCommandOptions(const base::Invocation& invocation);

}  // namespace partita::cli
