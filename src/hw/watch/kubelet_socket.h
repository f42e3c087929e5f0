// kubelet's socket for device plugins: a plugin registers there when it appears, and again when
// kubelet, which forgets its plugins, has replaced it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "hw/watch/paths.h"

namespace partita::hw::watch {

class KubeletSocket {
 public:
  // Nothing of the path need exist yet.
  static base::Result<KubeletSocket> Open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  // Readable when something may have changed.
  [[nodiscard]] int fd() const { return paths_.fd(); }
  [[nodiscard]] bool present() const { return socket_.has_value(); }

  enum class Change : std::uint8_t { kNone, kAppeared, kGone, kReplaced };
  // Since the last call.
  [[nodiscard]] Change Read();
  // Also where nothing was told: no kernel tells of a mount above it.
  [[nodiscard]] Change Look();

 private:
  KubeletSocket(Paths paths, std::string path) : paths_(std::move(paths)), path_(std::move(path)) {}

  Paths paths_;
  std::string path_;
  std::optional<std::string> socket_;  // which one it is: the kernel gives numbers again
};

}  // namespace partita::hw::watch
