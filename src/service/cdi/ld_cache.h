// The loader's cache, /etc/ld.so.cache: which libraries a machine has, and where.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::service::cdi {

struct CachedLibrary {
  std::string name;  // "libcuda.so.1"
  std::string path;  // as ldconfig found it, often a link
  bool elf64 = true;
  bool operator==(const CachedLibrary&) const = default;
};

// In the file's order. Takes the format of glibc 2.2 and later, also behind the older one that some
// distributions still write before it. Entries for other machines are left out; an offset that
// leads out of the file is kInvalid: such a file is not one that a loader would use.
[[nodiscard]] base::Result<std::vector<CachedLibrary>> ParseLdCache(std::string_view bytes);

}  // namespace partita::service::cdi
