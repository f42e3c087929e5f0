// The partition editor's hooks file (`version: v1`, `hooks`): programs to run around a change.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/document.h"

namespace partita::config {

// A program, started as it is: no shell reads it.
struct HookCommand {
  std::string command;
  std::vector<std::string> args;
  std::map<std::string, std::string> envs;  // all that the program inherits
  std::string workdir;                      // empty: where the editor runs
  // `timeout`, in seconds, which the partition editor's own files do not have; absent: no limit.
  std::optional<std::chrono::seconds> timeout = std::nullopt;
  bool operator==(const HookCommand&) const = default;
};

class HooksFile {
 public:
  HooksFile() = default;  // without hooks

  // All problems of the file at once, each with its place.
  [[nodiscard]] static base::Result<HooksFile> Parse(std::string text, std::string file_name);
  [[nodiscard]] static base::Result<HooksFile> Load(const std::string& path);

  // What to run at a point ("apply-start", "pre-apply-mode", "pre-apply-config", "apply-exit"), in
  // order; empty when the file says nothing of it. A file may name points that nobody reaches.
  [[nodiscard]] const std::vector<HookCommand>& At(std::string_view point) const;

  bool operator==(const HooksFile&) const = default;

 private:
  [[nodiscard]] static base::Result<HooksFile> Read(const Document& document);
  std::map<std::string, std::vector<HookCommand>, std::less<>> hooks_;
};

}  // namespace partita::config
