#include "hw/nvml/library.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace partita::hw::nvml {
namespace {

constexpr std::string_view kName = "libnvidia-ml.so.1";
constexpr std::array<std::string_view, 7> kDirectories = {
    "usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu",
    "lib64",     "lib/x86_64-linux-gnu",     "lib/aarch64-linux-gnu",
    "",
};

// dlerror often begins with the path that was asked for.
std::string LoaderError(const std::string& path) {
  const char* error = dlerror();
  const std::string_view text = error != nullptr ? error : "unknown error";
  return path + ": " + std::string(base::WithoutPrefix(text, path + ": ").value_or(text));
}

std::string PathOf(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return std::string(kName);
  return map->l_name;
}

}  // namespace

void* Symbols::Find(const char* name) const { return dlsym(handle_, name); }

std::vector<std::string> LibraryCandidates(const LibrarySearch& search) {
  if (!search.path.empty()) return {search.path};
  std::vector<std::string> candidates;
  const bool own_root = !search.driver_root.empty() && search.driver_root != "/";
  if (own_root) {
    for (const std::string_view directory : kDirectories) {
      const std::string folder =
          directory.empty() ? search.driver_root : base::JoinPath(search.driver_root, directory);
      candidates.push_back(base::JoinPath(folder, kName));
    }
  }
  candidates.emplace_back(kName);
  return candidates;
}

base::Result<std::shared_ptr<const Library>> Library::Open(const LibrarySearch& search) {
  std::vector<std::string> failures;
  for (const std::string& candidate : LibraryCandidates(search)) {
    // Local: its symbols are nobody else's business. Lazy: we look each one up by ourselves.
    void* handle = dlopen(candidate.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
      failures.push_back(LoaderError(candidate));
      continue;
    }
    std::shared_ptr<const Library> library(new Library(handle));
    if (library->api().init.pointer() != nullptr) return library;
    failures.push_back(candidate + ": it has no " + library->api().init.name());
  }
  return base::MakeError(base::ErrorCode::kUnavailable,
                         "cannot load the NVIDIA driver's library; tried {}",
                         base::Join(failures, "; "))
      .WithHint("install the NVIDIA driver, or name its directory with the driver root");
}

Library::Library(void* handle) : handle_(handle), path_(PathOf(handle)), api_(Symbols(handle)) {}

Library::~Library() { dlclose(handle_); }

}  // namespace partita::hw::nvml
