#include "service/toolkit/install.h"

#include <array>
#include <utility>

#include "base/files.h"
#include "base/root_dir.h"

namespace partita::service::toolkit {

namespace {

using base::Result;

constexpr const char* kProgram = "partita-hook";
constexpr mode_t kMode = 0755;
// partita-hook is static and has no data; a file beyond this is something else.
constexpr std::size_t kMostProgramBytes = std::size_t{64} << 20;

base::Error NotWritable(base::Error error, const std::string& directory) {
  return std::move(error)
      .Within("install the toolkit in " + directory)
      .WithHint(
          "the directory must be writable and on a file system that programs may be started "
          "from; toolkit.installDir (--to) names another");
}

// A new inode each time: a hook that runs from the old one goes on.
Result<bool> PutProgram(const base::RootDir& root,
                        const std::string& path,
                        const std::string& bytes) {
  const bool link = base::ReadLink(path).ok();
  const Result<std::string> before = base::ReadRegularFile(path, kMostProgramBytes);
  if (!link && before.ok() && *before == bytes) return false;
  TRY_VOID(root.Replace(kProgram, bytes, kMode));
  return true;
}

}  // namespace

std::span<const std::string_view> HookProgramNames() {
  static constexpr std::array<std::string_view, 8> kNames = {
      "nvidia-cdi-hook",
      "nvidia-container-cli",
      "nvidia-container-runtime",
      "nvidia-container-runtime-hook",
      "nvidia-container-runtime.cdi",
      "nvidia-container-runtime.legacy",
      "nvidia-container-toolkit",
      "nvidia-ctk",
  };
  return kNames;
}

Result<InstalledToolkit> InstallToolkit(const std::string& hook, const std::string& directory) {
  TRY(bytes, base::ReadRegularFile(hook, kMostProgramBytes), "the program to install");
  InstalledToolkit installed;
  installed.program = base::JoinPath(directory, kProgram);
  if (const auto made = base::MakeDirectories(directory, kMode); !made.ok())
    return NotWritable(made.error(), directory);
  TRY(root, base::RootDir::Open(directory));
  const Result<bool> put = PutProgram(root, installed.program, bytes);
  if (!put.ok()) return NotWritable(put.error(), directory);
  if (*put) installed.changed.emplace_back(kProgram);
  for (const std::string_view name : HookProgramNames()) {
    const Result<std::string> target = base::ReadLink(base::JoinPath(directory, name));
    if (target.ok() && *target == kProgram) continue;
    if (const auto linked = root.PutLink(kProgram, name); !linked.ok())
      return NotWritable(linked.error(), directory);
    installed.changed.emplace_back(name);
  }
  return installed;
}

}  // namespace partita::service::toolkit
