// Commands to an MPS control daemon, through NVIDIA's own program: what it and the daemon say to
// each other changes with the driver, what it says to people does not.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/mps/protocol.h"

namespace partita::agent::mps {

inline constexpr std::string_view kControlProgram = "nvidia-cuda-mps-control";

// "PATH=…" of a daemon: the server lies beside its program.
[[nodiscard]] std::string PathFor(const std::string& program);

class Control {
 public:
  // `stop`, where there is one, ends a command that runs. It outlives this.
  Control(std::string program,
          const service::mps::Directories& directories,
          const std::atomic<bool>* stop);

  // What is answered. Blocks: not for the loop's thread. kUnavailable where no daemon is there, or
  // it takes no command; kTimeout; an exit status otherwise is kIo with what was said. A command
  // that the daemon does not know has status 0: look at the answer.
  [[nodiscard]] base::Result<std::string> Ask(std::string_view command) const;
  // Several, by one process: their answers, one after the other. One that fails ends none of the
  // others, and one whose answer is nothing leaves no line.
  [[nodiscard]] base::Result<std::string> AskAll(const std::vector<std::string>& commands) const;

 private:
  std::string program_;
  std::vector<std::string> environment_;
  const std::atomic<bool>* stop_;
};

}  // namespace partita::agent::mps
