#include "service/cdi/driver_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "service/cdi/graphics_files.h"
#include "service/cdi/library_facts.h"

namespace partita::service::cdi {

namespace {

using base::ErrorCode;
using base::Result;
using partita::cdi::Capability;
using partita::cdi::DriverFile;
using partita::cdi::FileKind;

// Either tells the driver's version by its name.
constexpr std::string_view kNamedByVersion[] = {"libcuda.so.", "libnvidia-ml.so."};

constexpr std::string_view kExplicitLibraries[] = {
    "libEGL.so",
    "libGL.so",
    "libGLESv1_CM.so",
    "libGLESv2.so",
    "libGLX.so",
    "libGLdispatch.so",
    "libOpenCL.so",
    "libOpenGL.so",
    "libnvidia-api.so",
    "libnvidia-egl-xcb.so",
    "libnvidia-egl-xlib.so",
};
constexpr std::string_view kBinaries[] = {
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
    "nvidia-imex",
    "nvidia-imex-ctl",
};
constexpr std::string_view kSockets[] = {"nvidia-persistenced/socket",
                                         "nvidia-fabricmanager/socket"};
constexpr std::string_view kSocketFolders[] = {"/run", "/var/run"};
constexpr std::string_view kMpsDirectory = "/tmp/nvidia-mps";

// The version of the first library that a pattern finds.
std::optional<std::string> VersionBy(const DriverRoot& driver,
                                     const Search& search,
                                     const std::string& suffix) {
  for (const std::string_view library : kNamedByVersion) {
    const std::vector<std::string> found =
        FindLibraries(driver, search, std::string(library) + suffix);
    if (found.empty()) continue;
    const std::optional<std::string_view> version = base::WithoutPrefix(NameOf(found[0]), library);
    if (version && !version->empty()) return std::string(*version);
  }
  return std::nullopt;
}

Result<std::string> AgreeOnVersion(const DriverRoot& driver,
                                   const Search& search,
                                   std::string_view version) {
  if (!version.empty()) {
    const std::optional<std::string> same = VersionBy(driver, search, std::string(version));
    if (same && *same == version) return *same;
  }
  const std::optional<std::string> found = VersionBy(driver, search, "*.*");
  if (!found) {
    return base::MakeError(ErrorCode::kNotFound, "no libcuda.so.* or libnvidia-ml.so.* below {}",
                           driver.on_host())
        .WithHint("if the driver is in another place, name its root with --driver-root");
  }
  if (!version.empty()) {
    return base::MakeError(ErrorCode::kConflict,
                           "the driver is {}, but its libraries below {} are of {}", version,
                           driver.on_host(), *found)
        .WithHint(
            "reload the driver after an upgrade (or reboot), or name the right --driver-root");
  }
  return *found;
}

std::vector<std::string> LibraryDirectories(const DriverRoot& driver,
                                            const Search& search,
                                            const std::string& version) {
  std::vector<std::string> folders;
  for (const std::string& path : FindLibraries(driver, search, "lib*.so." + version)) {
    std::string folder(FolderOf(path));
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(std::move(folder));
  }
  return folders;
}

// Reads one driver's files. Each host path is taken once, by whoever comes first.
class FileReader {
 public:
  FileReader(const DriverRoot& driver, const Search& search, DriverFiles& files)
      : driver_(driver), search_(search), files_(files) {}

  void AddLibraries(bool explicit_ones) {
    const std::vector<std::string>& folders = files_.library_directories;
    const std::string versioned = "*.so." + files_.version;
    for (const std::string& folder : folders) AddMatching(folder, versioned);
    for (const std::string& folder : folders)
      AddMatching(base::JoinPath(folder, "vdpau"), versioned);
    for (const std::string& folder : folders) AddMatching(folder, "libnvidia-nvvm70.so.*");
    if (!explicit_ones) return;
    for (const std::string_view name : kExplicitLibraries) {
      for (const std::string& folder : folders) AddMatching(folder, name);
    }
  }

  void AddSockets(bool mps_directory) {
    for (const std::string_view name : kSockets) {
      for (const std::string_view folder : kSocketFolders) {
        const std::string path = base::JoinPath(folder, name);
        if (!driver_.IsFile(path)) continue;
        Add(path, FileKind::kSocket, {Capability::kUtility});
        break;
      }
    }
    const std::string mps(kMpsDirectory);
    if (mps_directory && driver_.ModeOf(mps)) Add(mps, FileKind::kSocket, {Capability::kCompute});
  }

  void AddFirmware() {
    std::vector<std::string> folders;
    if (!search_.firmware_class_path.empty()) folders.push_back(search_.firmware_class_path);
    for (const std::string_view above : {"/lib/firmware/updates", "/lib/firmware"}) {
      folders.push_back(base::JoinPath(above, search_.kernel_release));
      folders.emplace_back(above);
    }
    for (const std::string_view pattern : {"gsp*.bin", "ucodes*.bin"}) {
      for (const std::string& folder : folders) {
        const std::string of_version = base::JoinPath(folder, "nvidia/" + files_.version);
        for (const std::string& path : driver_.Match(of_version, pattern)) {
          if (driver_.IsFile(path)) Add(path, FileKind::kFirmware, {});
        }
      }
    }
  }

  void AddBinaries() {
    for (const std::string_view name : kBinaries) {
      if (const auto path = FindExecutable(driver_, search_, name))
        Add(*path, FileKind::kBinary, CapabilitiesOf(name));
    }
  }

  // Of the prestart hook alone: the reference's CDI has neither.
  void AddLegacy() {
    const std::string ending = ".so." + files_.version;
    for (const CachedLibrary& library : driver_.Cached()) {
      if (library.elf64) continue;
      const std::optional<std::string> real = driver_.RealFile(library.path);
      if (!real || !real->ends_with(ending) || !taken_.insert(*real).second) continue;
      DriverFile file = Make(*real, FileKind::kLibrary, CapabilitiesOf(NameOf(*real)));
      file.soname = library.name;
      file.elf32 = true;
      files_.legacy.push_back(std::move(file));
    }
    constexpr std::string_view kFabric = "nv-fabricmanager";
    if (const auto path = FindExecutable(driver_, search_, kFabric))
      files_.legacy.push_back(Make(*path, FileKind::kBinary, CapabilitiesOf(kFabric)));
  }

 private:
  [[nodiscard]] DriverFile Make(const std::string& path,
                                FileKind kind,
                                std::vector<Capability> of) const {
    return {.host_path = driver_.MountSource(path),
            .container_path = path,
            .kind = kind,
            .of = std::move(of),
            .soname = "",
            .elf32 = false};
  }

  void Add(const std::string& path, FileKind kind, std::vector<Capability> of) {
    if (taken_.insert(path).second) files_.driver.push_back(Make(path, kind, std::move(of)));
  }

  void AddMatching(const std::string& folder, std::string_view pattern) {
    for (const std::string& match : driver_.Match(folder, pattern)) {
      if (const std::optional<std::string> path = driver_.RealFile(match)) AddLibrary(*path);
    }
  }

  void AddLibrary(const std::string& path) {
    if (!taken_.insert(path).second) return;
    DriverFile file = Make(path, FileKind::kLibrary, CapabilitiesOf(NameOf(path)));
    Result<std::string> soname = ReadSoname(driver_, path);
    if (soname.ok()) {
      file.soname = *std::move(soname);
    } else {
      files_.warnings.push_back(soname.error().ToString());
    }
    for (Link& link : LinksFor(driver_, path, file.soname)) {
      std::vector<Link>& links = files_.driver_links;
      if (std::find(links.begin(), links.end(), link) == links.end())
        links.push_back(std::move(link));
    }
    files_.driver.push_back(std::move(file));
  }

  const DriverRoot& driver_;
  const Search& search_;
  DriverFiles& files_;
  std::set<std::string> taken_;
};

}  // namespace

Result<DriverFiles> ReadDriverFiles(const DriverRoot& driver,
                                    const Search& search,
                                    std::string_view version,
                                    const FileOptions& options) {
  DriverFiles files;
  TRY(agreed, AgreeOnVersion(driver, search, version));
  files.version = std::move(agreed);
  files.library_directories = LibraryDirectories(driver, search, files.version);
  FileReader reader(driver, search, files);
  reader.AddLibraries(options.explicit_libraries);
  if (options.ipc) reader.AddSockets(options.mps_directory);
  reader.AddFirmware();
  reader.AddBinaries();
  reader.AddLegacy();
  AddGraphicsFiles(driver, search, files);
  if (driver.cache_problem()) files.warnings.push_back(driver.cache_problem()->ToString());
  return files;
}

std::vector<DriverFile> ReadStorageFiles(const DriverRoot& driver) {
  std::vector<DriverFile> files;
  const auto add = [&](const std::string& path) {
    files.push_back({.host_path = driver.MountSource(path),
                     .container_path = path,
                     .kind = FileKind::kConfig,
                     .of = {},
                     .soname = "",
                     .elf32 = false});
  };
  const std::optional<mode_t> udev = driver.ModeOf("/run/udev");
  if (udev && S_ISDIR(*udev)) add("/run/udev");
  if (driver.IsFile("/etc/cufile.json")) add("/etc/cufile.json");
  return files;
}

}  // namespace partita::service::cdi
