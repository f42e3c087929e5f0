#include "agent/mps/pod/domain_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"

namespace partita::agent::mps::pod {
namespace {

using base::ErrorCode;
using base::Result;
using base::UniqueFd;

constexpr int kPlain = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

enum class Others : bool { kMayNotWrite, kMay };

Result<UniqueFd> OpenOwn(int parent, const char* name, const std::string& path, Others others) {
  UniqueFd directory(openat(parent, name, kPlain));
  if (!directory.valid() && (errno == ENOTDIR || errno == ELOOP)) {
    return base::MakeError(ErrorCode::kInvalid, "{} is no directory", path)
        .WithHint("remove what is there; the agent makes it again");
  }
  if (!directory.valid()) return base::ErrnoError("open " + path);
  struct stat about {};
  if (fstat(directory.get(), &about) != 0) return base::ErrnoError("look at " + path);
  constexpr mode_t kForOthers = S_IWGRP | S_IWOTH;
  const bool guarded = others == Others::kMay || (about.st_mode & kForOthers) == 0;
  if (about.st_uid == geteuid() && guarded) return directory;
  return base::MakeError(ErrorCode::kInvalid, "others may write to {}", path)
      .WithHint("see whose it is; the agent makes it root's, with mode 0755");
}

}  // namespace

DomainPlace::DomainPlace(UniqueFd domain, UniqueFd log, std::string name)
    : domain_(std::move(domain)), log_(std::move(log)), name_(std::move(name)) {}

Result<DomainPlace> DomainPlace::Open(const std::string& root, const std::string& domain) {
  const UniqueFd above(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!above.valid()) {
    return base::ErrnoError("open " + root).WithHint("the agent makes it, as its mps.root");
  }
  const std::string path = base::JoinPath(root, domain);
  TRY(own, OpenOwn(above.get(), domain.c_str(), path, Others::kMayNotWrite));
  TRY(log, OpenOwn(own.get(), "log", path + "/log", Others::kMayNotWrite));
  // The daemon makes sockets in the one, and everybody files in the other.
  TRY(pipe, OpenOwn(own.get(), "pipe", path + "/pipe", Others::kMay));
  TRY(shm, OpenOwn(own.get(), "shm", path + "/shm", Others::kMay));
  return DomainPlace(std::move(own), std::move(log), path);
}

std::string DomainPlace::shm() const { return fmt::format("/proc/self/fd/{}/shm", domain_.get()); }

std::string DomainPlace::log_file() const {
  return fmt::format("/proc/self/fd/{}/control.log", log_.get());
}

}  // namespace partita::agent::mps::pod
