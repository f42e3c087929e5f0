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
Wishes StartClean();

}  // namespace partita::hook
