#include "hook/container/image_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include <fmt/format.h>

namespace partita::hook {

base::Result<ImageFile> ImageFile::Open(const base::RootDir& root, std::string_view path) {
  TRY(file, root.OpenAt(path, O_PATH));
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return base::ErrnoError(fmt::format("look at {}", path));
  if (!S_ISREG(about.st_mode))
    return base::MakeError(base::ErrorCode::kInvalid, "{} in {} is no regular file", path,
                           root.name());
  TRY(readable, base::Reopen(file, O_RDONLY | O_NONBLOCK | O_NOCTTY), "open {}", path);
  return ImageFile(std::move(readable));
}

bool ImageFile::Read(std::uint64_t at, std::span<char> to) const {
  while (!to.empty()) {
    if (at > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - to.size())
      return false;
    const ssize_t count = pread(file_.get(), to.data(), to.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to = to.subspan(static_cast<std::size_t>(count));
    at += static_cast<std::uint64_t>(count);
  }
  return true;
}

}  // namespace partita::hook
