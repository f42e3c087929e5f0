// Mount operations by descriptor, so that what a mount covers can still be used after it.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::sim::tool {

// A detached copy of the tree at `path` (relative to `directory`), with the mounts in it.
[[nodiscard]] base::Result<base::UniqueFd> CloneTree(int directory, const std::string& path);
// Attaches a detached tree at `target`.
[[nodiscard]] base::Result<void> Attach(const base::UniqueFd& tree, const std::string& target);
// Shows `source` at `target` too.
[[nodiscard]] base::Result<void> Bind(const std::string& source, const std::string& target);
// An empty directory of its own at `target`.
[[nodiscard]] base::Result<void> MountEmpty(const std::string& target);
// Lays `layer` over `target`, read-only: names of both are there, and of two files the layer's.
// What is mounted below `target` stays.
[[nodiscard]] base::Result<void> Overlay(const std::string& layer, const std::string& target);
// /run is often mounted without devices and programs; a node needs both.
[[nodiscard]] base::Result<void> AllowDevices(const std::string& mount_point);

// Adds what is in the directory `overlay` to the directory `target`: names that are only in
// `overlay` appear, directories in both are merged, and a directory of `overlay` that describes a
// device (it has a file "uevent") replaces its namesake. Where `live` is not empty, names that are
// only in `overlay` appear as links to `<live>/<name>`, so that they vanish when they vanish there.
[[nodiscard]] base::Result<void> MergeDirectory(const std::string& target,
                                                const std::string& overlay,
                                                const std::string& live);

}  // namespace partita::sim::tool
