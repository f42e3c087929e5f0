// What every program of this executable does before anything else. Its environment, descriptors
// and working directory may be an image's.
#pragma once

#include <span>

namespace partita::hook {

// What of the environment counts.
struct Wishes {
  bool debug = false;
  bool quiet = false;
};

// Closes inherited descriptors (0, 1 and 2 are open afterwards), empties the environment, goes to
// "/", sets the umask to 022, and lets nobody look into the process. Never for a program that
// forwards what it got to another.
// Writing to a pipe that nobody reads, or beyond a limit, is an error from then on, and no signal.
Wishes StartClean();

// An end of all work, whatever an image has found to keep us busy: seconds of CPU, and memory. For
// programs that execute nothing but ldconfig, which has limits of its own.
void LimitWork();

}  // namespace partita::hook
