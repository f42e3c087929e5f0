// From the words of NVIDIA's nvidia-ctk to those of partita.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace partita::cli {

struct CtkEnvironment {
  std::function<std::optional<std::string>(const char* name)> variable;
  // nvidia-container-cli.root of config.toml, at this path or, where it is empty, the usual one.
  std::function<base::Result<std::string>(const std::string& config_file)> driver_root;
};

struct Translated {
  std::vector<std::string> arguments;  // of partita, without argv[0]
  std::vector<std::string> warnings;   // of flags that have no effect
  std::string usage;                   // where it is asked for: printed, and nothing is done
};

// `words` are without argv[0]. kInvalid: a flag or value that there is not; kUnsupported: a command
// or flag of nvidia-ctk that partita has no equal for, by name. Variables stand for flags that are
// absent, with commas between the values of a list.
[[nodiscard]] base::Result<Translated> TranslateCtk(std::span<const std::string> words,
                                                    const CtkEnvironment& environment);

}  // namespace partita::cli
