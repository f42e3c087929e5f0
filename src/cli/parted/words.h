// The command line of nvidia-mig-parted, which differs from ours in its grammar: one dash or two
// before any name, `--switch=false`, the last of two equal flags, and no flags behind a word that
// is none. This turns it into words that our own table understands.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"

namespace partita::cli::parted {

struct Understood {
  // What our parser is to read; the command's name, if there is one, is the first.
  std::vector<std::string> words;
  // Variables of switches that a flag turned off: they do not count.
  std::vector<std::string> overruled;
  // Words that no command takes. The reference ignores them too.
  std::vector<std::string> ignored;
  // A command or help topic that does not exist.
  std::string unknown_topic;
};

// Errors are kInvalid and say what is wrong with a flag.
[[nodiscard]] base::Result<Understood> Understand(const base::Program& program,
                                                  std::span<const std::string> words);

}  // namespace partita::cli::parted
