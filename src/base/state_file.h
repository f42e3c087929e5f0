// Files in which the program remembers something across restarts and power cuts. One header line,
// `partita-<name> <version> sha256=… len=…`, then the payload; the checksum covers the payload's
// bytes as they are, so that a newer program's unknown fields do not make a file look damaged. The
// version before is kept beside it as <path>.bak, for the day when the file is damaged; a file that
// somebody deleted is forgotten.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::base {

// Where such files are: PARTITA_STATE_DIR, else /var/lib/partita.
[[nodiscard]] std::string StateDirectory();
// Where locks, sockets and other files of this boot are: PARTITA_RUN_DIR, else /run/partita.
[[nodiscard]] std::string RunDirectory();

struct StateFile {
  std::string path;
  std::string name;  // of the header: "mig"
  int version = 1;
};

struct StateRead {
  std::optional<std::string> payload;  // absent: nothing was ever written, or nothing is readable
  // What was found damaged, and where it was moved; empty when all was well.
  std::string warning;
};

// A damaged file is moved aside to <path>.damaged, and the one before it takes its place. Errors
// are those of reading, and a version that this program does not know (kUnsupported).
[[nodiscard]] Result<StateRead> ReadState(const StateFile& file);

// Its payload, or that of the one before where it is damaged. Changes nothing.
[[nodiscard]] Result<std::optional<std::string>> PeekState(const StateFile& file);

// Makes the directory (0700) where it is missing. Whoever reads sees the old content or the new.
[[nodiscard]] Result<void> WriteState(const StateFile& file, std::string_view payload);

}  // namespace partita::base
