// Directories in which somebody else makes, changes and removes what we show: device nodes,
// capabilities, kubelet's socket.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::hw::watch {

// Watches directories, also ones that do not exist yet: then the nearest one above that does.
class Paths {
 public:
  static base::Result<Paths> Open();

  // Readable when something changed.
  [[nodiscard]] int fd() const { return fd_.get(); }

  // Names in `directory` that come, go or change their rights or owner count from now on. An error
  // where the kernel has no watch left to give.
  [[nodiscard]] base::Result<void> Watch(const std::string& directory);

  // The directories of Watch in which something may have changed since the last call: also each
  // that came to be or went away.
  [[nodiscard]] std::set<std::string> Read();

 private:
  explicit Paths(base::UniqueFd fd) : fd_(std::move(fd)) {}
  // Puts the watch of `directory` where it can be now.
  [[nodiscard]] base::Result<void> Place(const std::string& directory);

  base::UniqueFd fd_;
  std::map<std::string, std::string> placed_;  // watched directory -> where its watch is
  std::map<int, std::string> paths_;           // the kernel's number -> path
};

}  // namespace partita::hw::watch
