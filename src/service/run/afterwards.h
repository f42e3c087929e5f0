// What is left when this process has become another program and that has ended.
#pragma once

#include <signal.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace partita::service::run {

struct Leavings {
  std::vector<std::string> command;  // run first: by path, with an empty environment; or empty
  // Where this is there afterwards, the command has failed at something that lives: then `tree`
  // stays, and what is around it. Else it is removed with all that is in it. Or both are empty.
  std::string sign_of_life, tree;
  std::vector<std::string> directories;  // then removed in this order, each as soon as it is empty
};

// Between making something and telling ClearAfterwards of it: what ends a program waits.
class EndsHeld {
 public:
  EndsHeld();
  EndsHeld(const EndsHeld&) = delete;
  EndsHeld& operator=(const EndsHeld&) = delete;
  ~EndsHeld();

 private:
  sigset_t before_;
};

// A process that waits for the end of this one, however it comes, and clears up. It is nobody's
// child and in no terminal: whatever this process executes does not meet it. It stays outside of
// namespaces and cgroups that are entered later, and whoever ends a whole session or unit (SIGTERM,
// SIGINT, SIGHUP, SIGQUIT) does not keep it from its work.
[[nodiscard]] base::Result<void> ClearAfterwards(const Leavings& leavings);

}  // namespace partita::service::run
