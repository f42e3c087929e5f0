#include "hook/runtime/low_level.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace partita::hook {
namespace {

constexpr std::array<std::string_view, 6> kUsual = {
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};

bool IsThisProgram(const struct stat& about) {
  struct stat self = {};
  return stat("/proc/self/exe", &self) == 0 && self.st_dev == about.st_dev &&
         self.st_ino == about.st_ino;
}

// What is in the way of executing it; "" where nothing is.
std::string WhyNot(const std::string& path, bool may_be_this) {
  // Whoever made the container may have chosen where we stand.
  if (!path.starts_with('/')) return "is not an absolute path";
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return "is not there";
  if (!S_ISREG(about.st_mode) || (about.st_mode & 0111) == 0) return "is not an executable file";
  if (!may_be_this && IsThisProgram(about)) return "is this program itself";
  return "";
}

std::string Find(std::string_view name, std::string_view path, bool may_be_this) {
  std::vector<std::string_view> directories = base::Split(path, ':');
  directories.insert(directories.end(), kUsual.begin(), kUsual.end());
  for (const std::string_view directory : directories) {
    if (!directory.starts_with('/')) continue;
    std::string program = base::JoinPath(directory, name);
    if (WhyNot(program, may_be_this).empty()) return program;
  }
  return "";
}

}  // namespace

std::string FindProgram(std::string_view name, std::string_view path) {
  return Find(name, path, true);
}

base::Result<std::string> FindLowLevelRuntime(std::span<const std::string> candidates,
                                              std::string_view path) {
  std::vector<std::string> reasons;
  for (const std::string& candidate : candidates) {
    const bool is_path = candidate.find('/') != std::string::npos;
    const std::string why = is_path ? WhyNot(candidate, false) : "is nowhere in PATH";
    if (is_path && why.empty()) return candidate;
    std::string found = is_path || candidate.empty() ? "" : Find(candidate, path, false);
    if (!found.empty()) return found;
    reasons.push_back(fmt::format("{} {}", base::Quoted(candidate), why));
  }
  return base::MakeError(base::ErrorCode::kNotFound, "no low-level runtime: {}",
                         reasons.empty() ? "none is configured" : base::Join(reasons, ", "))
      .WithHint("nvidia-container-runtime.runtimes of config.toml names them");
}

base::Error ExecLowLevelRuntime(const std::string& program, std::span<char* const> arguments) {
  // exec does not write to them; its signature is older than const.
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  return base::ErrnoError(fmt::format("could not exec {}", program));
}

}  // namespace partita::hook
