#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/draw/drawing.h"

namespace partita::cli {

// What the options say about the drawing; empty where the terminal decides.
struct LookWish {
  std::optional<std::string> width;  // columns
  std::string colour = "auto";       // "auto", "always" or "never"
  bool ascii = false;
};

using GetEnvironment = std::function<std::optional<std::string>(const char* name)>;

// What a stream is connected to.
struct Terminal {
  bool interactive = false;
  std::optional<int> columns, rows;

  static Terminal Of(int fd);
};

// Options first, then environment (NO_COLOR, TERM, LC_ALL, LC_CTYPE, LANG), then the terminal.
[[nodiscard]] base::Result<Look> ChooseLook(const LookWish& wish,
                                            const Terminal& terminal,
                                            const GetEnvironment& environment);

}  // namespace partita::cli
