#include "service/cdi/node_files.h"

#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace partita::service::cdi {

namespace {

using base::OnHost;
using base::Result;

std::string Trimmed(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path.empty() ? "/" : path;
}

Result<std::vector<std::string>> InsideAll(const DriverRoot& driver,
                                           const std::vector<std::string>& paths,
                                           const std::string& host_root) {
  std::vector<std::string> inside;
  for (const std::string& path : paths) {
    TRY(each, driver.Inside(OnHost(path, host_root)));
    inside.push_back(std::move(each));
  }
  return inside;
}

constexpr const char* kPackagedHook = "/usr/bin/partita-hook";

}  // namespace

std::string InstalledHook() {
  const Result<std::string> self = base::ReadLink("/proc/self/exe");
  if (!self.ok()) return kPackagedHook;
  std::string beside = base::JoinPath(FolderOf(*self), NameOf(kPackagedHook));
  return base::Exists(beside) ? beside : kPackagedHook;
}

Result<NodeFiles> ReadNodeFiles(const NodeFilesOptions& options,
                                const model::Inventory& inventory) {
  const std::string host = Trimmed(options.host_root);
  std::string driver_at = Trimmed(options.driver_root);
  // The driver of the host itself is below the host's root.
  if (driver_at == "/") driver_at = host;
  const std::string dev_at = options.dev_root.empty() ? driver_at : Trimmed(options.dev_root);

  NodeFiles files;
  files.places = {OnHost(driver_at, host), OnHost(dev_at == "/" ? host : dev_at, host)};
  TRY(dev, base::RootDir::Open(dev_at == "/" ? host : dev_at), "the root of /dev");
  files.devices = ReadDeviceFiles(dev, host, inventory);
  if (options.of == NodeFilesOptions::Of::kNothing) return files;

  TRY(driver, DriverRoot::Open(driver_at, files.places.driver_root));
  if (options.of == NodeFilesOptions::Of::kStorage) {
    files.driver.driver = ReadStorageFiles(driver);
    return files;
  }
  Search search = ReadSearch(host);
  TRY(libraries, InsideAll(driver, options.library_paths, host));
  TRY(configs, InsideAll(driver, options.config_paths, host));
  search.library_paths = std::move(libraries);
  search.config_paths = std::move(configs);
  const std::string version = inventory.driver ? inventory.driver->version : "";
  TRY(found, ReadDriverFiles(driver, search, version, options.files));
  files.driver = std::move(found);
  return files;
}

}  // namespace partita::service::cdi
