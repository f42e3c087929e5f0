#include "sim/tool/own_folders.h"

#include "base/files.h"

namespace partita::sim::tool {

base::Result<void> MakeOwnFolders(const std::string& root) {
  for (const OwnFolder& folder : kOwnFolders) {
    TRY_VOID(base::MakeDirectories(root + folder.path, folder.mode));
  }
  return {};
}

base::Result<void> EmptyAtBoot(const std::string& root) {
  for (const OwnFolder& folder : kOwnFolders) {
    if (folder.outlives_boot) continue;
    const std::string path = root + folder.path;
    TRY(names, base::ListDirectory(path));
    for (const std::string& name : names) TRY_VOID(base::RemoveTree(base::JoinPath(path, name)));
  }
  return {};
}

}  // namespace partita::sim::tool
