#include "base/descriptor_io.h"

#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace partita::base {

Result<void> WriteAll(int fd, std::string_view bytes, const std::string& called) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoError(fmt::format("write {}", called));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace partita::base
