// What has to change in an engine's files so that it knows NVIDIA's runtime: pure functions over
// the texts of those files. Every byte that need not change is kept; what is done already is no
// change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/toolkit/kept_keys.h"

namespace partita::service::toolkit {

struct FileChange {
  std::string path;
  std::optional<std::string> before, after;  // absent: no such file
  FileMemory memory{};                       // its keys and what was copied, for the way back
  bool operator==(const FileChange&) const = default;
};

struct ConfigureOrder {
  std::string runtime_name = "nvidia";
  std::string runtime_path{};  // podman: the hook's
  bool set_as_default = false;
  bool enable_cdi = false;
  bool undo = false;  // takes our entries out again
  std::string config{};
  std::string drop_in{};  // containerd's
  // What `containerd config dump` says; absent: the tables are taken from the file.
  std::optional<std::string> dump{};
};

// What is known of the files from orders before.
struct EngineMemory {
  FileMemory config{}, drop_in{};
};

struct EnginePlan {
  std::vector<FileChange> changes{};  // those that differ
  std::vector<std::string> notes{};   // what somebody should know who restarts the engine
};

// With `undo` a plan is made for files that we wrote and somebody changed since: our keys become
// what they were, and a note says which.
// kInvalid for a file that is no JSON or TOML, or has something else where our entries belong.
// Nothing but our entries differs after it, or it is kInternal.
[[nodiscard]] base::Result<EnginePlan> PlanDocker(std::optional<std::string> daemon_json,
                                                  const ConfigureOrder& order,
                                                  const EngineMemory& memory = {});
// Version 1 is edited in place; from version 2 on there is a drop-in file, which the main one
// imports. The drop-in has the whole table of the CRI plugin: containerd before 2.1 takes plugin
// tables from the last file alone. One that somebody else wrote or changed is edited.
[[nodiscard]] base::Result<EnginePlan> PlanContainerd(const std::optional<std::string>& config_toml,
                                                      const std::optional<std::string>& drop_in,
                                                      const ConfigureOrder& order,
                                                      const EngineMemory& memory = {});
// The files that a main file imports by name, not by pattern. containerd 2.4.2 stops at one that is
// missing and reads none behind it, without a word (`containerd config dump`). Empty for a text
// that is no TOML.
[[nodiscard]] std::vector<std::string> ContainerdImports(const std::string& config_toml,
                                                         const ConfigureOrder& order);
// The file of the hook is ours as a whole.
[[nodiscard]] base::Result<EnginePlan> PlanPodman(std::optional<std::string> hook_json,
                                                  const ConfigureOrder& order,
                                                  const EngineMemory& memory = {});

void NoteNotOurs(const std::string& path, EnginePlan& plan);
void NoteTakenBack(const FileChange& change,
                   const std::vector<std::string>& said,
                   EnginePlan& plan);

// Names and paths that may stand in those files. `bare`: a program's name without a path will do.
[[nodiscard]] base::Result<void> CheckOrder(const ConfigureOrder& order, bool bare);

}  // namespace partita::service::toolkit
