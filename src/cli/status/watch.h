#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/draw/drawing.h"
#include "cli/draw/screen.h"
#include "cli/draw/terminal.h"

namespace partita::cli {

struct WatchPlan {
  std::chrono::milliseconds interval{2000};
  std::optional<std::uint64_t> count;  // refreshes; nothing: until stopped
};

// Draws on the terminal's alternate screen until Ctrl-C or q. `draw` gives the picture for a
// terminal of the moment's size. Returns the exit status: 0 when the user stopped it; by SIGTERM,
// SIGHUP or SIGQUIT the process ends as they do, with the terminal given back.
int WatchOnScreen(SignalQueue& signals,
                  const WatchPlan& plan,
                  const std::function<Lines(const Terminal&, Look&)>& draw);

// Writes one text after another to standard output, for pipes and files.
int WatchAsStream(SignalQueue& signals,
                  const WatchPlan& plan,
                  const std::function<std::string()>& next);

}  // namespace partita::cli
