// An engine's files read, and a plan for them carried out: with backups, remembered for the way
// back, all of it or nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/toolkit/engine.h"

namespace partita::service::toolkit {

enum class Engine : std::uint8_t { kDocker, kContainerd, kPodman };

struct EngineRow {
  Engine engine;
  std::string_view name;
  std::string_view config, drop_in;
  std::string_view runtime_path;
  std::string_view restart;  // the command after which the engine has read its files
};
[[nodiscard]] const EngineRow& RowOf(Engine engine);
[[nodiscard]] std::vector<std::string> EngineNames();
// kInvalid; engines that are not supported yet are refused by name.
[[nodiscard]] base::Result<Engine> ParseEngine(std::string_view name);

// Reads the files that the order names and plans. With `undo`: a file that is byte for byte what
// we wrote becomes what it was before; from one that was edited since, our entries are taken out,
// and a note says so. A file that we never wrote stays. Paths may be relative; those of the plan
// begin with "/". A file is known as ours by whatever path it is named.
[[nodiscard]] base::Result<EnginePlan> PlanEngine(Engine engine,
                                                  const ConfigureOrder& order,
                                                  const std::string& state_directory);

// A change that was made.
struct Carried {
  FileChange change;
  std::string backup;  // of what was there; empty where nothing was, or where it is not needed
};

// Looks again that every file is still what the plan began with (kConflict), keeps a copy of what
// was there as `<file>.bak-<n>`, remembers, writes. What was written is put back when a later file
// fails. A link stays a link, also one to a file that is made or removed; owner and mode stay; a
// new file is for everybody to read, less the umask.
[[nodiscard]] base::Result<std::vector<Carried>> CarryOut(const std::vector<FileChange>& changes,
                                                          const ConfigureOrder& order,
                                                          const std::string& state_directory);

}  // namespace partita::service::toolkit
