// What `export` and `generate-config` have in common: a configuration goes out.
#pragma once

#include <functional>
#include <string>

#include "base/command_line.h"
#include "base/result.h"
#include "base/value.h"
#include "model/inventory.h"

namespace partita::cli::parted {

struct EmitOptions {
  std::string format;
  std::string path;   // "" and "-" are standard output
  std::string label;  // of what is exported
};

using MakeConfig =
    std::function<base::Result<base::Value>(const model::Inventory&, const EmitOptions&)>;

// Prints a configuration, or writes it where --output-file says.
[[nodiscard]] base::Result<void> Emit(const base::Invocation& invocation, const MakeConfig& make);

[[nodiscard]] base::Option FormatFlag();

}  // namespace partita::cli::parted
