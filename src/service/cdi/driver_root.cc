#include "service/cdi/driver_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace partita::service::cdi {

namespace {

using base::Result;

constexpr std::size_t kMostCacheBytes = std::size_t{64} << 20;
constexpr int kMostLinks = 40;  // as the kernel's own limit

// In the reference's order; the first folder is for drivers that are no distribution's. Those that
// are links to others here find the same files again, which counts once.
constexpr std::string_view kLibraryFolders[] = {
    "/",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu/nvidia/current",
    "/lib/aarch64-linux-gnu/nvidia/current",
};
constexpr std::string_view kProgramFolders[] = {
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
};
constexpr std::string_view kDataFolders[] = {"/usr/local/share", "/usr/share"};

std::vector<std::string> ReadPathList(const char* variable) {
  const char* value = std::getenv(variable);
  std::vector<std::string> folders;
  if (value == nullptr) return folders;
  for (const std::string_view piece : base::Split(value, ':')) {
    // A relative folder would be one of wherever we happen to be.
    if (piece.starts_with('/')) folders.emplace_back(piece);
  }
  return folders;
}

// Files that are found twice, by a link or in a folder that is one, count once.
class Found {
 public:
  explicit Found(const DriverRoot& driver) : driver_(driver) {}

  void Add(const std::string& path) {
    std::optional<std::string> real = driver_.RealFile(path);
    if (real && seen_.insert(*real).second) paths_.push_back(*std::move(real));
  }
  [[nodiscard]] std::vector<std::string> Take() && { return std::move(paths_); }

 private:
  const DriverRoot& driver_;
  std::set<std::string> seen_;
  std::vector<std::string> paths_;
};

std::string LinkTarget(const std::string& link, const std::string& target) {
  return target.starts_with('/') ? target : base::JoinPath(FolderOf(link), target);
}

// Whether a library of the cache, or something that its links lead over, has a name that matches.
bool ChainMatches(const base::RootDir& root, std::string path, std::string_view pattern) {
  for (int links = 0; links < kMostLinks; ++links) {
    if (MatchesPattern(NameOf(path), pattern)) return true;
    const Result<std::string> target = root.ReadLink(path);
    if (!target.ok()) return false;
    path = LinkTarget(path, *target);
  }
  return false;
}

// What every name that matches begins with, without the version. A library and the links to it have
// that in common, so that the links of all the others, thousands of them, need not be read.
std::string_view StemOf(std::string_view pattern) {
  const std::size_t end = std::min(pattern.find_first_of("*?"), pattern.find(".so"));
  return pattern.substr(0, end);
}

std::vector<std::string> FindInCache(const DriverRoot& driver, std::string_view pattern) {
  Found found(driver);
  const std::string_view stem = StemOf(pattern);
  for (const CachedLibrary& library : driver.Cached()) {
    if (!library.elf64 || !library.name.starts_with(stem)) continue;
    if (ChainMatches(driver.root(), library.path, pattern)) found.Add(library.path);
  }
  return std::move(found).Take();
}

}  // namespace

DriverRoot::DriverRoot(base::RootDir root, std::string on_host)
    : root_(std::move(root)), on_host_(std::move(on_host)) {}

Result<DriverRoot> DriverRoot::Open(const std::string& directory, std::string on_host) {
  TRY(root, base::RootDir::Open(directory), "the driver's root");
  while (on_host.size() > 1 && on_host.ends_with('/')) on_host.pop_back();
  if (on_host.empty()) on_host = "/";
  return DriverRoot(std::move(root), std::move(on_host));
}

std::string DriverRoot::OnHost(std::string_view inside) const {
  return on_host_ == "/" ? std::string(inside) : base::JoinPath(on_host_, inside);
}

std::string DriverRoot::MountSource(const std::string& inside) const {
  if (on_host_ == "/") return inside;
  const Result<std::string> real = root_.Resolve(inside);
  return OnHost(real.ok() ? *real : inside);
}

Result<std::string> DriverRoot::Inside(std::string_view on_host) const {
  if (!on_host.starts_with('/')) {
    return base::MakeError(base::ErrorCode::kInvalid, "{}: not an absolute path",
                           base::Quoted(on_host));
  }
  if (on_host_ == "/") return std::string(on_host);
  const std::optional<std::string_view> rest = base::WithoutPrefix(on_host, on_host_);
  if (!rest || (!rest->empty() && !rest->starts_with('/'))) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} is not below the driver root {}", on_host,
                           on_host_)
        .WithHint("a container gets files of one driver root only");
  }
  return rest->empty() ? std::string("/") : std::string(*rest);
}

const std::vector<std::string>& DriverRoot::Names(const std::string& folder) const {
  const auto known = names_.find(folder);
  if (known != names_.end()) return known->second;
  Result<std::vector<std::string>> names = root_.List(folder);
  return names_[folder] = names.ok() ? *std::move(names) : std::vector<std::string>();
}

std::vector<std::string> DriverRoot::Match(const std::string& folder,
                                           std::string_view pattern) const {
  std::vector<std::string> paths;
  // They are sorted, and dozens of patterns are asked for in folders of thousands.
  const std::string_view stem = pattern.substr(0, pattern.find_first_of("*?"));
  const std::vector<std::string>& names = Names(folder);
  for (auto name = std::lower_bound(names.begin(), names.end(), stem);
       name != names.end() && name->starts_with(stem); ++name) {
    if (MatchesPattern(*name, pattern)) paths.push_back(base::JoinPath(folder, *name));
  }
  return paths;
}

const std::vector<CachedLibrary>& DriverRoot::Cached() const {
  if (cached_) return *cached_;
  const Result<std::string> bytes = root_.Read("/etc/ld.so.cache", kMostCacheBytes);
  Result<std::vector<CachedLibrary>> parsed =
      bytes.ok() ? ParseLdCache(*bytes) : Result<std::vector<CachedLibrary>>(bytes.error());
  if (parsed.ok()) return cached_.emplace(*std::move(parsed));
  if (parsed.error().code() != base::ErrorCode::kNotFound)
    cache_problem_ = std::move(parsed).error().Within(OnHost("/etc/ld.so.cache"));
  return cached_.emplace();
}

std::optional<mode_t> DriverRoot::ModeOf(const std::string& inside) const {
  const Result<base::UniqueFd> file = root_.OpenAt(inside, O_PATH);
  struct stat about {};
  if (!file.ok() || fstat(file->get(), &about) != 0) return std::nullopt;
  return about.st_mode;
}

bool DriverRoot::IsFile(const std::string& inside) const {
  const std::optional<mode_t> mode = ModeOf(inside);
  return mode && !S_ISDIR(*mode);
}

// To resolve a path is to walk along it: of a file that is no link its folder is enough, once for
// the hundreds that lie in it.
std::optional<std::string> DriverRoot::RealFile(const std::string& inside) const {
  const Result<base::FileFacts> facts = root_.Look(inside);
  if (!facts.ok() || facts->IsDirectory()) return std::nullopt;
  if (facts->IsLink()) {
    if (!IsFile(inside)) return std::nullopt;
    Result<std::string> real = root_.Resolve(inside);
    return real.ok() ? std::optional(*std::move(real)) : std::nullopt;
  }
  const std::optional<std::string>& folder = RealFolder(FolderOf(inside));
  if (!folder) return std::nullopt;
  return base::JoinPath(*folder, NameOf(inside));
}

const std::optional<std::string>& DriverRoot::RealFolder(std::string_view inside) const {
  const auto known = real_folders_.find(inside);
  if (known != real_folders_.end()) return known->second;
  Result<std::string> real = root_.Resolve(inside);
  return real_folders_.emplace(inside, real.ok() ? std::optional(*std::move(real)) : std::nullopt)
      .first->second;
}

Search ReadSearch(const std::string& host_root) {
  Search search;
  search.path = ReadPathList("PATH");
  search.xdg_data_dirs = ReadPathList("XDG_DATA_DIRS");
  const Result<std::string> firmware =
      base::ReadFile(base::JoinPath(host_root, "/sys/module/firmware_class/parameters/path"));
  if (firmware.ok()) search.firmware_class_path = base::Trim(*firmware);
  utsname kernel{};
  if (uname(&kernel) == 0) search.kernel_release = kernel.release;
  return search;
}

std::vector<std::string> FindLibraries(const DriverRoot& driver,
                                       const Search& search,
                                       std::string_view pattern) {
  Found found(driver);
  std::set<std::string> looked;  // one of a merged /usr need not be read twice
  const auto look_in = [&](const std::string& folder) {
    const std::optional<std::string>& real = driver.RealFolder(folder);
    if (!real || !looked.insert(*real).second) return;
    for (const std::string& path : driver.Match(folder, pattern)) found.Add(path);
  };
  if (!search.library_paths.empty()) {
    for (const std::string& folder : search.library_paths) look_in(folder);
    return std::move(found).Take();
  }
  for (const std::string_view folder : kLibraryFolders) look_in(std::string(folder));
  std::vector<std::string> paths = std::move(found).Take();
  return paths.empty() ? FindInCache(driver, pattern) : paths;
}

std::optional<std::string> FindExecutable(const DriverRoot& driver,
                                          const Search& search,
                                          std::string_view name) {
  std::vector<std::string> folders = search.path;
  folders.insert(folders.end(), std::begin(kProgramFolders), std::end(kProgramFolders));
  for (const std::string& folder : folders) {
    const std::string path = base::JoinPath(folder, name);
    const std::optional<mode_t> mode = driver.ModeOf(path);
    if (mode && S_ISREG(*mode) && (*mode & 0111U) != 0) return path;
  }
  return std::nullopt;
}

std::optional<std::string> FindConfig(const DriverRoot& driver,
                                      const Search& search,
                                      std::string_view path) {
  std::vector<std::string> folders = search.config_paths;
  if (folders.empty()) {
    folders = {"/etc"};
    if (search.xdg_data_dirs.empty()) {
      folders.insert(folders.end(), std::begin(kDataFolders), std::end(kDataFolders));
    } else {
      folders.insert(folders.end(), search.xdg_data_dirs.begin(), search.xdg_data_dirs.end());
    }
  }
  for (const std::string& folder : folders) {
    std::string found = base::JoinPath(folder, path);
    if (driver.IsFile(found)) return found;
  }
  return std::nullopt;
}

bool MatchesPattern(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view FolderOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace partita::service::cdi
