// update-ldcache: the container's loader finds the driver's libraries.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/call.h"
#include "hook/container/image_facts.h"
#include "hook/report.h"

namespace partita::hook {

struct UpdateLdcacheOptions {
  std::vector<std::string> folders;  // absolute, one line each
  std::string ldconfig;
};

// Writes the loader's files, then runs the host's ldconfig. Where that cannot be isolated, or is
// not there, the links that it would make are made, and a warning says so.
[[nodiscard]] base::Result<void> UpdateLdcache(const HookCall& call,
                                               const UpdateLdcacheOptions& options,
                                               const Report& report);

// A line of a configuration file: absolute, nothing that ends or breaks it. kInvalid.
[[nodiscard]] base::Result<void> CheckFolder(std::string_view folder);

[[nodiscard]] base::Result<void> WriteLoaderFiles(const base::RootDir& root,
                                                  const LoaderFiles& files);

// The one of the loader's directories that is a mount within the container, if there is one: a
// volume. It is its owner's, and nothing is written there. kInvalid: a link leads there.
[[nodiscard]] base::Result<std::string> LoaderFilesElsewhere(const base::RootDir& root);
void TellElsewhere(const std::string& directory, const Report& report);

// A new file "<prefix>-<random>.conf" of ld.so.conf.d with a line each; nothing where there is
// none, or a file of an earlier start says the same.
[[nodiscard]] base::Result<void> AddLdConf(const base::RootDir& root,
                                           std::string_view prefix,
                                           std::span<const std::string> directories);

// The links that ldconfig would make in these folders, to the names that libraries call themselves.
void LinkSonames(const base::RootDir& root, std::span<const std::string> folders);

[[nodiscard]] base::Result<void> RunUpdateLdcache(std::span<const std::string> arguments,
                                                  CallInput& input,
                                                  const Report& report);

}  // namespace partita::hook
