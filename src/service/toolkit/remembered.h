// What `runtime configure` wrote, for the way back: one row a file, in <state>/runtime.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/toolkit/kept_keys.h"

namespace partita::service::toolkit {

struct WrittenFile {
  std::string path;    // base::RealPath's
  std::string sha256;  // of what we wrote
  // Where the bytes from before our first change are; empty: there was no such file.
  std::string backup{};
  // False once somebody's edits lie between ours: then no copy is what undo should bring back.
  bool exact = true;
  std::vector<KeptKey> keys{};  // our entries, and what they were
  std::string copied{};         // FileMemory's
  bool operator==(const WrittenFile&) const = default;
};

[[nodiscard]] base::Result<std::vector<WrittenFile>> ReadWritten(
    const std::string& state_directory);
[[nodiscard]] base::Result<void> RememberWritten(const std::string& state_directory,
                                                 const std::vector<WrittenFile>& files);
[[nodiscard]] const WrittenFile* FindWritten(const std::vector<WrittenFile>& files,
                                             const std::string& path);

}  // namespace partita::service::toolkit
