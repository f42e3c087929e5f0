#include "hook/container/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <fmt/format.h>

namespace partita::hook {

base::Result<MappedFile> MappedFile::Open(const base::RootDir& root,
                                          std::string_view path,
                                          std::size_t most) {
  TRY(file, root.OpenAt(path, O_PATH));
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return base::ErrnoError(fmt::format("look at {}", path));
  if (!S_ISREG(about.st_mode))
    return base::MakeError(base::ErrorCode::kInvalid, "{} in {} is no regular file", path,
                           root.name());
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size > most)
    return base::MakeError(base::ErrorCode::kInvalid, "{} in {} has more than {} bytes", path,
                           root.name(), most);
  if (size == 0) return MappedFile({});
  TRY(readable, base::Reopen(file, O_RDONLY | O_NONBLOCK | O_NOCTTY), "open {}", path);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, readable.get(), 0);
  if (bytes == MAP_FAILED) return base::ErrnoError(fmt::format("map {}", path));
  return MappedFile({static_cast<const char*>(bytes), size});
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace partita::hook
