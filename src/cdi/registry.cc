#include "cdi/registry.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cdi/text.h"
#include "cdi/validate.h"

namespace partita::cdi {
namespace {

constexpr std::size_t kMostNamed = 3;

bool IsSpecName(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".yaml");
}

// A directory is no specification and nobody's mistake.
base::Result<bool> IsFile(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return base::ErrnoError("look at " + path);
  return !S_ISDIR(about.st_mode);
}

base::Result<Spec> Load(const std::string& path) {
  TRY(text, base::ReadRegularFile(path));
  TRY(spec, Parse(std::move(text), path));
  TRY_VOID(Check(spec), "{}", path);
  return spec;
}

// "a, b, c and 5 more".
std::string SomeOf(const std::vector<std::string>& names) {
  if (names.size() <= kMostNamed + 1) return base::Join(names, ", ");
  const std::vector<std::string> first(names.begin(), names.begin() + kMostNamed);
  return fmt::format("{} and {} more", base::Join(first, ", "), names.size() - kMostNamed);
}

}  // namespace

Registry Registry::Read(std::span<const std::string> directories) {
  Registry registry;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    // Named twice, its files would stand beside themselves.
    const auto last = directories.last(directories.size() - i - 1);
    if (std::find(last.begin(), last.end(), directories[i]) == last.end())
      registry.ReadDirectory(directories[i], i);
  }
  registry.Index();
  return registry;
}

void Registry::ReadDirectory(const std::string& directory, std::size_t number) {
  const base::Result<std::vector<std::string>> names = base::ListDirectory(directory);
  if (!names.ok()) {
    if (names.error().code() != base::ErrorCode::kNotFound)
      problems_.push_back({directory, names.error()});
    return;
  }
  for (const std::string& name : *names) {
    if (IsSpecName(name)) ReadSpec(base::JoinPath(directory, name), number);
  }
}

void Registry::ReadSpec(const std::string& path, std::size_t directory) {
  const base::Result<bool> is_file = IsFile(path);
  if (is_file.ok() && !*is_file) return;
  base::Result<Spec> spec = is_file.ok() ? Load(path) : base::Result<Spec>(is_file.error());
  // One that went away meanwhile was not there.
  if (!spec.ok() && spec.error().code() != base::ErrorCode::kNotFound)
    problems_.push_back({path, std::move(spec).error()});
  else if (spec.ok())
    files_.push_back({path, *std::move(spec), directory});
}

void Registry::Index() {
  std::map<std::string, std::vector<std::pair<const File*, const Device*>>> defined;
  for (const File& file : files_) {
    for (const Device& device : file.spec.devices) {
      auto& places = defined[fmt::format("{}={}", file.spec.kind, device.name)];
      if (!places.empty() && places.front().first->directory < file.directory) places.clear();
      places.emplace_back(&file, &device);
    }
  }
  std::map<std::vector<std::string>, std::vector<std::string>> conflicts;  // files, their devices
  for (const auto& [name, places] : defined) {
    if (places.size() == 1) {
      devices_.emplace(name, Found{&places.front().first->spec, places.front().second});
      continue;
    }
    std::vector<std::string> paths;
    for (const auto& [file, device] : places) paths.push_back(file->path);
    conflicts[std::move(paths)].push_back(name);
  }
  for (const auto& [paths, names] : conflicts) {
    const std::vector<std::string> others(paths.begin(), paths.end() - 1);
    problems_.push_back(
        {paths.front(),
         base::MakeError(base::ErrorCode::kConflict,
                         "{} cannot be used: defined by {} and {}, none of which wins",
                         SomeOf(names), base::Join(others, ", "), paths.back())
             .WithHint("remove all of these files but one")});
  }
}

std::vector<std::string> Registry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, found] : devices_) names.push_back(name);
  return names;
}

base::Result<std::vector<Registry::Found>> Registry::Find(
    std::span<const std::string> names) const {
  std::vector<Found> found;
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const auto device = devices_.find(name);
    if (device != devices_.end())
      found.push_back(device->second);
    else
      missing.push_back(name);
  }
  if (missing.empty()) return found;
  return base::MakeError(base::ErrorCode::kNotFound, "unresolvable CDI devices {}",
                         base::Join(missing, ", "))
      .WithHint("partita cdi list shows those that there are, and what is wrong with others");
}

}  // namespace partita::cdi
