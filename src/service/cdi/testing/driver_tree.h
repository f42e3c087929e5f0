// A driver's files in a directory of a test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hw/testing/tree.h"
#include "service/cdi/driver_root.h"
#include "service/cdi/ld_cache.h"

namespace partita::service::cdi::testing {

// A library of 64 bits that has this SONAME; none where it is empty.
[[nodiscard]] std::string SharedObject(std::string_view soname);
// As ldconfig of today writes it.
[[nodiscard]] std::string LdCache(const std::vector<CachedLibrary>& libraries);

class DriverTree {
 public:
  [[nodiscard]] const std::string& root() const { return tree_.root(); }
  [[nodiscard]] DriverRoot Open(const std::string& on_host = "/") const;

  void File(const std::string& path, std::string_view text = "") const { tree_.File(path, text); }
  void Link(const std::string& path, const std::string& target) const { tree_.Link(path, target); }
  void Program(const std::string& path) const;
  void Folder(const std::string& path) const;
  // The library, and in its folder the links that a package brings.
  void Library(const std::string& path,
               std::string_view soname,
               const std::vector<std::string>& links = {}) const;

 private:
  hw::testing::Tree tree_;
};

// Driver 550.90.07 as Debian installs it: libcuda, libnvidia-ml, nvidia-smi.
void MakeSmallDriver(const DriverTree& tree,
                     const std::string& folder = "/usr/lib/x86_64-linux-gnu",
                     const std::string& version = "550.90.07");

}  // namespace partita::service::cdi::testing
