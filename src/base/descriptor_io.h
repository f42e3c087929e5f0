// What files.h and root_dir.h do with a descriptor alike.
#pragma once

#include <dirent.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::base {

struct CloseDirectory {
  void operator()(DIR* stream) const { closedir(stream); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectory>;

// `called`: how messages name it.
[[nodiscard]] Result<void> WriteAll(int fd, std::string_view bytes, const std::string& called);

}  // namespace partita::base
