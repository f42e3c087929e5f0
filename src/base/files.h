// Files and directories. Every error names the operation and the path.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::base {

// More than any file that people or the kernel write for us to read.
inline constexpr std::size_t kMostBytes = std::size_t{16} << 20;

// The whole file; kInvalid if it has more than `most` bytes, as /dev/zero does. Works for procfs
// and sysfs, whose files have no size.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path, std::size_t most = kMostBytes);

// As ReadFile. Links are followed; a pipe, a device or a directory is kInvalid, and a pipe without
// a writer never waited for.
[[nodiscard]] Result<std::string> ReadRegularFile(const std::string& path,
                                                  std::size_t most = kMostBytes);

// Creates or truncates. `mode` is what a new file gets, less the umask; an old one keeps its own.
[[nodiscard]] Result<void> WriteFile(const std::string& path, std::string_view bytes, mode_t mode);

// What a file that is replaced leaves to the new one.
enum class Heritage : bool {
  kOwnerAndMode,  // what was closed stays closed: the owner, and of the mode asked for what it had
  kNothing,       // it is our file, whoever wrote the one before
};

// Whoever reads `path` sees the old content or the new, also after a power cut: written beside it,
// synced, renamed, directory synced. A new file gets exactly `mode`. Links are followed and stay,
// but not one that somebody else put into a public directory (kDenied). Only a regular file is
// replaced: a device, a pipe or an open descriptor (/dev/stdout) gets the bytes as it is.
[[nodiscard]] Result<void> WriteFileAtomically(const std::string& path,
                                               std::string_view bytes,
                                               mode_t mode,
                                               Heritage heritage = Heritage::kOwnerAndMode);

// As WriteFileAtomically, for a file that is ours whoever wrote the one before; what is there and
// no regular file is kInvalid and stays.
[[nodiscard]] Result<void> ReplaceRegularFile(const std::string& path,
                                              std::string_view bytes,
                                              mode_t mode);

// Names without "." and "..", sorted by byte.
[[nodiscard]] Result<std::vector<std::string>> ListDirectory(const std::string& path);

// Makes the directory and those above it; ones that exist are left as they are.
[[nodiscard]] Result<void> MakeDirectories(const std::string& path, mode_t mode);

// Removes a file or a directory with everything below it. Links are removed, never followed. A
// mount point at or below it is an error (kBusy) that leaves the mounted tree alone. Absent is
// success.
[[nodiscard]] Result<void> RemoveTree(const std::string& path);

// True for a link too, wherever it points.
[[nodiscard]] bool Exists(const std::string& path);

[[nodiscard]] Result<std::string> ReadLink(const std::string& path);

// Where a path leads, one text for every way to name a file: from the root on, without "..", every
// link followed, also one that leads to what is not there yet.
[[nodiscard]] Result<std::string> RealPath(const std::string& path);

// "dir/name"; an absolute `name` is taken as relative to `dir`, as under a root directory.
[[nodiscard]] std::string JoinPath(std::string_view dir, std::string_view name);

// What the host calls what this process, which finds the host's files below `host_root`, has at
// `path`, without slashes at its end; `path` itself where it is not below.
[[nodiscard]] std::string OnHost(std::string path, std::string host_root);

}  // namespace partita::base
