#include "cli/selector/config_link.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

#include "base/files.h"

namespace partita::cli {
namespace {

bool LeadsTo(const std::string& link, const std::string& target) {
  const base::Result<std::string> there = base::RealPath(link);
  const base::Result<std::string> wanted = base::RealPath(target);
  return base::Exists(link) && there.ok() && wanted.ok() && *there == *wanted;
}

}  // namespace

base::Result<bool> PointLink(const std::string& link, const std::string& target) {
  if (LeadsTo(link, target)) return false;
  struct stat about {};
  if (lstat(link.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
    return base::MakeError(base::ErrorCode::kInvalid, "{} is a directory", link)
        .WithHint("name a file that does not exist yet (--config-file-dst)");
  const std::string fresh = fmt::format("{}.{}", link, getpid());
  (void)unlink(fresh.c_str());
  if (symlink(target.c_str(), fresh.c_str()) != 0) return base::ErrnoError("link " + fresh);
  if (std::rename(fresh.c_str(), link.c_str()) != 0) {
    base::Error error = base::ErrnoError(fmt::format("rename {} to {}", fresh, link));
    (void)unlink(fresh.c_str());
    return error;
  }
  return true;
}

}  // namespace partita::cli
