// Directories in which somebody else makes, changes and removes what we show: device nodes,
// capabilities, kubelet's socket.
#pragma once

#include <cstdint>
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
  // What of a directory counts.
  enum class Of : std::uint8_t {
    kNames,             // what comes, goes or changes its rights or owner
    kNamesAndContents,  // also a file that somebody has written
  };
  static base::Result<Paths> Open(Of what = Of::kNames);

  // Readable when something changed.
  [[nodiscard]] int fd() const { return fd_.get(); }

  // Changes in `directory` count from now on. An error where the kernel has no watch left to give.
  [[nodiscard]] base::Result<void> Watch(const std::string& directory);

  // Where somebody is in a directory that was removed, the kernel does not tell of it: looks itself
  // where each watch belongs now.
  void PlaceAgain();

  // The directories of Watch in which something may have changed since the last call: also each
  // that came to be or went away.
  [[nodiscard]] std::set<std::string> Read();

 private:
  Paths(base::UniqueFd fd, std::uint32_t changes) : fd_(std::move(fd)), changes_(changes) {}
  // Puts the watch of `directory` where it can be now.
  [[nodiscard]] base::Result<void> Place(const std::string& directory);

  base::UniqueFd fd_;
  std::uint32_t changes_;                      // the kernel's bits
  std::map<std::string, std::string> placed_;  // watched directory -> where its watch is
  std::map<int, std::string> paths_;           // the kernel's number -> path
};

}  // namespace partita::hw::watch
