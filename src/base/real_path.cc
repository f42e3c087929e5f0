#include "base/real_path.h"

#include <cerrno>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "base/files.h"

namespace partita::base {
namespace {

std::string NameOf(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Of a directory of which the last parts need not be there.
Result<std::string> RealDirectory(const std::string& path) {
  using Resolved = std::unique_ptr<char, decltype([](char* text) { free(text); })>;
  const Resolved resolved(realpath(path.empty() ? "." : path.c_str(), nullptr));
  if (resolved != nullptr) return std::string(resolved.get());
  const std::string parent = ParentOf(path), name = NameOf(path);
  if (errno != ENOENT || parent == path || name == "..")
    return ErrnoError(fmt::format("look at {}", path));
  TRY(above, RealDirectory(parent));
  return name.empty() || name == "." ? above : JoinPath(above, name);
}

}  // namespace

Result<std::string> RealPath(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::string way = path;
  for (int links = 0; links < kMostLinks; ++links) {
    std::string name = NameOf(way);
    const bool is_directory = name.empty() || name == "." || name == "..";
    TRY(directory, RealDirectory(is_directory ? way : ParentOf(way)));
    if (is_directory) return directory;
    std::string whole = JoinPath(directory, name);
    Result<std::string> target = ReadLink(whole);
    if (!target.ok()) return whole;
    way = target->starts_with('/') ? *target : JoinPath(directory, *target);
  }
  return ErrnoError(fmt::format("follow {}", path), ELOOP);
}

}  // namespace partita::base
