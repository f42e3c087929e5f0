// Where a driver is installed, and how its files are looked for there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root_dir.h"
#include "service/cdi/ld_cache.h"

namespace partita::service::cdi {

// A driver's root directory. Links never lead out of it, so that those of a driver container mean
// what they mean in there. What was read once is remembered: for one look at a driver, not for
// longer. One thread.
class DriverRoot {
 public:
  // `on_host` is what the host calls this directory; "/" for a driver that is installed on it.
  static base::Result<DriverRoot> Open(const std::string& directory, std::string on_host);

  [[nodiscard]] const base::RootDir& root() const { return root_; }
  [[nodiscard]] const std::string& on_host() const { return on_host_; }

  // As the host calls a path inside.
  [[nodiscard]] std::string OnHost(std::string_view inside) const;
  // What the host must mount to get the file of this path. Outside of "/" the host would follow a
  // link to something of its own: there it is the path without links.
  [[nodiscard]] std::string MountSource(const std::string& inside) const;
  // The other way: kInvalid for a path that is not in here.
  [[nodiscard]] base::Result<std::string> Inside(std::string_view on_host) const;

  // Sorted; empty for a folder that is absent or cannot be read.
  [[nodiscard]] const std::vector<std::string>& Names(const std::string& folder) const;
  // The paths in a folder whose last part matches ("*", "?"), sorted.
  [[nodiscard]] std::vector<std::string> Match(const std::string& folder,
                                               std::string_view pattern) const;

  // Of /etc/ld.so.cache; empty without one.
  [[nodiscard]] const std::vector<CachedLibrary>& Cached() const;
  // Why the cache could not be used.
  [[nodiscard]] const std::optional<base::Error>& cache_problem() const { return cache_problem_; }

  // The type and permissions, links followed; nothing where there is none.
  [[nodiscard]] std::optional<mode_t> ModeOf(const std::string& inside) const;
  // Exists, links followed, and is no directory.
  [[nodiscard]] bool IsFile(const std::string& inside) const;
  // The same file's path without links; nothing where it is no file.
  [[nodiscard]] std::optional<std::string> RealFile(const std::string& inside) const;
  // Of a folder; nothing where its path leads nowhere.
  [[nodiscard]] const std::optional<std::string>& RealFolder(std::string_view inside) const;

 private:
  DriverRoot(base::RootDir root, std::string on_host);

  base::RootDir root_;
  std::string on_host_;
  mutable std::map<std::string, std::vector<std::string>> names_;
  mutable std::map<std::string, std::optional<std::string>, std::less<>> real_folders_;
  mutable std::optional<std::vector<CachedLibrary>> cached_;
  mutable std::optional<base::Error> cache_problem_;
};

// Facts of this process and of the kernel that decide where is searched.
struct Search {
  // Instead of the usual folders, when not empty; as inside the root.
  std::vector<std::string> library_paths, config_paths;
  std::vector<std::string> path;           // of PATH
  std::vector<std::string> xdg_data_dirs;  // of XDG_DATA_DIRS; empty: the usual two
  std::string firmware_class_path;         // where the kernel was told to find firmware first
  std::string kernel_release;              // of uname
};
[[nodiscard]] Search ReadSearch(const std::string& host_root);

// Files inside the root, without links, each once, in the order of discovery: of the usual folders
// or, where those have none, of the loader's cache. `pattern` is a name.
[[nodiscard]] std::vector<std::string> FindLibraries(const DriverRoot& driver,
                                                     const Search& search,
                                                     std::string_view pattern);
// The first in PATH and the usual folders, its link not followed.
[[nodiscard]] std::optional<std::string> FindExecutable(const DriverRoot& driver,
                                                        const Search& search,
                                                        std::string_view name);
// The first of the folders for configuration, its link not followed. `path` is relative.
[[nodiscard]] std::optional<std::string> FindConfig(const DriverRoot& driver,
                                                    const Search& search,
                                                    std::string_view path);

// "*" is any text, "?" one byte.
[[nodiscard]] bool MatchesPattern(std::string_view name, std::string_view pattern);
// "/a/b" of "/a/b/c", "/" of "/a".
[[nodiscard]] std::string_view FolderOf(std::string_view path);
[[nodiscard]] std::string_view NameOf(std::string_view path);

}  // namespace partita::service::cdi
