// The files of a pipe directory, with the names and modes that driver 580 gives them.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::sim::mps {

struct PipeFiles {
  base::UniqueFd lock;        // control_lock, held
  base::UniqueFd control;     // listens
  base::UniqueFd privileged;  // listens, for the owner alone
  base::UniqueFd log;         // the pipe that servers and clients log through
};

// Makes the directory where it is the default one. False: it cannot be used.
[[nodiscard]] bool PreparePipeDirectory(const std::string& directory, bool is_default);
// The same of the log directory.
[[nodiscard]] bool PrepareLogDirectory(const std::string& directory, bool is_default);

// kConflict: another daemon is there. What a killed one left is replaced.
[[nodiscard]] base::Result<PipeFiles> OpenPipeFiles(const std::string& directory);
// Orderly end: the sockets and the lock's file stay, as they do with NVIDIA's.
void RemovePipeFiles(const std::string& directory);

}  // namespace partita::sim::mps
