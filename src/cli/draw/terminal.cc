#include "cli/draw/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace partita::cli {

namespace {

// Narrower than this the drawing would cut what it is there to show.
constexpr int kNarrowest = 60;
constexpr int kWidest = 500;
constexpr int kUsual = 80;

// By the variables alone: a minimal system lacks the locale's files, not the terminal's ability.
bool SpeaksUtf8(const GetEnvironment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::optional<std::string> value = environment(name);
    if (!value || value->empty()) continue;
    const std::string locale = base::ToLower(*value);
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

bool WantsColour(const LookWish& wish,
                 const Terminal& terminal,
                 const GetEnvironment& environment) {
  if (wish.colour != "auto") return wish.colour == "always";
  const bool refused = !environment("NO_COLOR").value_or("").empty();
  return terminal.interactive && !refused && environment("TERM").value_or("dumb") != "dumb";
}

}  // namespace

Terminal Terminal::Of(int fd) {
  Terminal terminal;
  terminal.interactive = isatty(fd) == 1;
  winsize size{};
  if (terminal.interactive && ioctl(fd, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col > 0) terminal.columns = size.ws_col;
    if (size.ws_row > 0) terminal.rows = size.ws_row;
  }
  return terminal;
}

base::Result<Look> ChooseLook(const LookWish& wish,
                              const Terminal& terminal,
                              const GetEnvironment& environment) {
  Look look;
  look.width = std::clamp(terminal.columns.value_or(kUsual), kNarrowest, kWidest);
  if (wish.width) {
    const std::optional<std::uint64_t> width = base::ParseUnsigned(*wish.width);
    if (!width || *width < kNarrowest || *width > kWidest) {
      return base::MakeError(base::ErrorCode::kInvalid, "--width {}: not a number from {} to {}",
                             base::Quoted(*wish.width), kNarrowest, kWidest);
    }
    look.width = static_cast<int>(*width);
  }
  look.colour = WantsColour(wish, terminal, environment);
  look.utf8 = !wish.ascii && SpeaksUtf8(environment);
  return look;
}

}  // namespace partita::cli
