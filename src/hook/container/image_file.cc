#include "hook/container/image_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <limits>

#include <fmt/format.h>

namespace partita::hook {
namespace {

bool IsOfKernel(int file) {
  struct statfs about = {};
  return fstatfs(file, &about) == 0 &&
         (about.f_type == PROC_SUPER_MAGIC || about.f_type == SYSFS_MAGIC);
}

}  // namespace

base::Result<std::string> ReadImageText(const base::RootDir& root,
                                        std::string_view path,
                                        std::size_t most) {
  TRY(file, ImageFile::Open(root, path));
  std::string text;
  constexpr std::size_t kPiece = 16384;
  for (;;) {
    std::array<char, kPiece> piece;
    const std::size_t count = file.ReadSome(text.size(), piece);
    if (count == 0) return text;
    text.append(piece.data(), count);
    if (text.size() > most)
      return base::MakeError(base::ErrorCode::kInvalid, "{} in {} has more than {} bytes", path,
                             root.name(), most);
  }
}

base::Result<ImageFile> ImageFile::Open(const base::RootDir& root, std::string_view path) {
  TRY(file, root.OpenAt(path, O_PATH));
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return base::ErrnoError(fmt::format("look at {}", path));
  if (!S_ISREG(about.st_mode))
    return base::MakeError(base::ErrorCode::kInvalid, "{} in {} is no regular file", path,
                           root.name());
  if (IsOfKernel(file.get()))
    return base::MakeError(base::ErrorCode::kNotFound, "{} is of the kernel, not of the image",
                           path);
  TRY(readable, base::Reopen(file, O_RDONLY | O_NONBLOCK | O_NOCTTY), "open {}", path);
  return ImageFile(std::move(readable));
}

std::size_t ImageFile::ReadSome(std::uint64_t at, std::span<char> to) const {
  if (at > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - to.size()) return 0;
  for (;;) {
    const ssize_t count = pread(file_.get(), to.data(), to.size(), static_cast<off_t>(at));
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return 0;
  }
}

bool ImageFile::Read(std::uint64_t at, std::span<char> to) const {
  while (!to.empty()) {
    const std::size_t count = ReadSome(at, to);
    if (count == 0) return false;
    to = to.subspan(count);
    at += count;
  }
  return true;
}

}  // namespace partita::hook
