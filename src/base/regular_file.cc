#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "base/unique_fd.h"

namespace partita::base {
namespace {

Error NoRegularFile(const std::string& path) {
  return MakeError(ErrorCode::kInvalid, "{} is no regular file", path)
      .WithHint("remove it: nothing else can be kept there");
}

}  // namespace

Result<std::string> ReadRegularFile(const std::string& path, std::size_t most) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // A socket, or a node without its driver.
  if (!fd.valid() && errno == ENXIO) return NoRegularFile(path);
  if (!fd.valid()) return ErrnoError(fmt::format("open {}", path));
  struct stat about = {};
  if (fstat(fd.get(), &about) != 0) return ErrnoError(fmt::format("look at {}", path));
  if (!S_ISREG(about.st_mode)) return NoRegularFile(path);
  std::string bytes;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError(fmt::format("read {}", path));
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (bytes.size() > most) {
      return MakeError(ErrorCode::kInvalid, "{} has more than {} bytes", path, most)
          .WithHint("is it the right file?");
    }
  }
}

Result<void> ReplaceRegularFile(const std::string& path, std::string_view bytes, mode_t mode) {
  struct stat about = {};
  if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) return NoRegularFile(path);
  return WriteFileAtomically(path, bytes, mode, Heritage::kNothing);
}

}  // namespace partita::base
