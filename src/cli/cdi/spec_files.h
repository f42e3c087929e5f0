// What the `cdi` commands share: where files are, and how answers are shown.
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "base/value.h"
#include "cdi/spec.h"

namespace partita::cli {

// Those of --spec-dir, else the two that every engine reads, below --host-root.
[[nodiscard]] std::vector<std::string> SpecDirectories(const base::Invocation& invocation);

// A file, or standard input for "-". It was read and checked. Every error names it.
[[nodiscard]] base::Result<cdi::Spec> LoadSpec(const std::string& path);

// Prints the document by --output, for text the lines, and returns `status`.
int PrintAnswer(const base::Invocation& invocation,
                const base::Value& document,
                const std::string& text,
                int status);

}  // namespace partita::cli
