// What the `cdi` commands share: where files are, and how one is read.
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "cdi/spec.h"

namespace partita::cli {

// Those of --spec-dir, else the two that every engine reads, below --host-root.
[[nodiscard]] std::vector<std::string> SpecDirectories(const base::Invocation& invocation);

// A file, or standard input for "-". It was read and checked. Every error names it.
[[nodiscard]] base::Result<cdi::Spec> LoadSpec(const std::string& path);

}  // namespace partita::cli
