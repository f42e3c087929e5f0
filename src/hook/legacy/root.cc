#include "hook/legacy/root.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/mount_id.h"
#include "base/unique_fd.h"
#include "hook/call.h"

namespace partita::hook {
namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::MakeError;
using base::RootDir;
using base::UniqueFd;

base::Result<RootDir> OpenInBundle(const BundleRead& bundle, const std::string& path) {
  TRY(opened, RootDir::Open(bundle.path), "the bundle");
  struct stat about = {};
  if (fstat(opened.fd(), &about) != 0) return ErrnoError("look at the bundle");
  if (about.st_dev != bundle.device || about.st_ino != bundle.file)
    return MakeError(ErrorCode::kConflict, "the bundle {} is another directory than it was",
                     bundle.path);
  return OpenContainerRoot(opened, path, base::JoinPath(bundle.path, path));
}

base::Result<void> CheckOwnMount(const RootDir& root) {
  const UniqueFd above(openat(root.fd(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!above.valid()) return ErrnoError("look above the container's root");
  TRY(own, base::MountIdOf(root.fd()));
  TRY(other, base::MountIdOf(above.get()));
  if (own != other) return {};
  return MakeError(ErrorCode::kDenied, "the container's root {} is no mount of its own",
                   root.name())
      .WithHint("what is made there would be made on the host: was the bundle replaced?");
}

}  // namespace

base::Result<RootDir> OpenLegacyRoot(const LegacyRoot& root) {
  TRY(opened, root.bundle ? OpenInBundle(*root.bundle, root.path) : OpenContainerRoot(root.path));
  TRY_VOID(CheckOwnMount(opened));
  return opened;
}

}  // namespace partita::hook
