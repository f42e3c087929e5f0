// A directory that has the root of a container in it.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "base/root_dir.h"

namespace partita::service::run {

// Where a container's programs are looked for.
inline constexpr char kImagePath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct Image {
  std::string path;  // absolute, without links
  base::RootDir root;
};

// The directory's `rootfs`, as a bundle has it, else the directory itself. kInvalid: it is none, or
// empty, or this machine's own root, or has links where runc mounts.
[[nodiscard]] base::Result<Image> OpenImage(const std::string& directory);

// Can the container execute this? `added` are the files that will be there besides. kNotFound: it
// is not there; kDenied: it is no program.
[[nodiscard]] base::Result<void> CheckCommand(const base::RootDir& root,
                                              const std::string& command,
                                              std::span<const std::string> added);

}  // namespace partita::service::run
