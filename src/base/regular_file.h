// Files in directories where others write too: what is no regular file is refused, not waited for.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace partita::base {

// As ReadFile. Links are followed; a pipe, a device or a directory is kInvalid, and a pipe without
// a writer never waited for.
[[nodiscard]] Result<std::string> ReadRegularFile(const std::string& path,
                                                  std::size_t most = kMostBytes);

// As WriteFileAtomically, for a file that is ours whoever wrote the one before; what is there and
// no regular file is kInvalid and stays.
[[nodiscard]] Result<void> ReplaceRegularFile(const std::string& path,
                                              std::string_view bytes,
                                              mode_t mode);

}  // namespace partita::base
