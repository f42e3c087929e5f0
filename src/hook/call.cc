#include "hook/call.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/files.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;

constexpr std::size_t kMostState = std::size_t{1} << 20;
constexpr std::size_t kMostConfig = std::size_t{16} << 20;

base::Result<std::string> ReadStandardInput() {
  std::string bytes;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoError("read the container's state from standard input");
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (bytes.size() > kMostState)
      return MakeError(ErrorCode::kInvalid, "the container's state has more than {} bytes",
                       kMostState);
  }
}

// However it is spelt.
base::Result<bool> IsHostRoot(const base::RootDir& root) {
  struct stat own = {}, about = {};
  if (stat("/", &own) != 0 || fstat(root.fd(), &about) != 0)
    return base::ErrnoError("look at the container's root");
  return own.st_dev == about.st_dev && own.st_ino == about.st_ino;
}

// "/bundle/rootfs", or "/bundle/rootfs (a link to ../gone)".
std::string Described(const std::string& path) {
  const base::Result<std::string> target = base::ReadLink(path);
  return target.ok() ? fmt::format("{} (a link to {})", path, *target) : path;
}

constexpr const char* kOwnRoot =
    "root.path of the bundle's config.json must lead to the container's own directory";

// Only where the state does not tell: a rootless runtime's bundle may be unreadable here
// (nvidia-container-toolkit #648).
base::Result<std::string> RootPath(const oci::State& state, std::optional<base::RootDir>& bundle) {
  if (!state.root.empty()) return state.root;
  if (state.bundle.empty())
    return MakeError(ErrorCode::kInvalid, "the container's state names no bundle");
  TRY(opened, base::RootDir::Open(state.bundle));
  TRY(config, opened.Read("config.json", kMostConfig));
  TRY(path, oci::ParseRootPath(config), "{}/config.json", state.bundle);
  bundle = std::move(opened);
  return path;
}

// A relative root is below the bundle whose configuration was read: its path may lead to another
// one by now.
base::Result<base::RootDir> OpenRoot(const oci::State& state) {
  std::optional<base::RootDir> bundle;
  TRY(path, RootPath(state, bundle), "find the container's root");
  if (path.starts_with('/')) return OpenContainerRoot(path);
  if (state.bundle.empty() || !state.bundle.starts_with('/'))
    return MakeError(ErrorCode::kInvalid,
                     "find the container's root: the container's root \"{}\" is relative, and no "
                     "bundle is named by its whole path",
                     path);
  const std::string whole = base::JoinPath(state.bundle, path);
  return bundle ? OpenContainerRoot(*bundle, path, whole) : OpenContainerRoot(whole);
}

base::Result<base::RootDir> OpenRootAt(int directory,
                                       const std::string& path,
                                       const std::string& whole) {
  if (path.find('\0') != std::string::npos)
    return MakeError(ErrorCode::kInvalid, "the container's root has a NUL byte in its path");
  base::UniqueFd fd(openat(directory, path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    const int reason = errno;
    return base::ErrnoError(fmt::format("open the container's root {}", Described(whole)), reason)
        .WithHint(kOwnRoot);
  }
  TRY(root, base::RootDir::At(std::move(fd), whole));
  TRY(host, IsHostRoot(root));
  if (!host) return root;
  return MakeError(ErrorCode::kInvalid, "the container's root {} is the host's", Described(whole))
      .WithHint(kOwnRoot);
}

}  // namespace

base::Result<base::RootDir> OpenContainerRoot(const std::string& path) {
  return OpenRootAt(AT_FDCWD, path, path);
}

base::Result<base::RootDir> OpenContainerRoot(const base::RootDir& bundle,
                                              const std::string& path,
                                              const std::string& whole) {
  return OpenRootAt(bundle.fd(), path, whole);
}

base::Result<oci::State> ReadState(std::string_view container_spec) {
  const bool standard_input = container_spec.empty() || container_spec == "-";
  base::Result<std::string> text = standard_input
                                       ? ReadStandardInput()
                                       : base::ReadFile(std::string(container_spec), kMostState);
  if (!text.ok()) return std::move(text).error();
  return oci::ParseState(*text);
}

base::Result<HookCall> ReadHookCall(std::string_view container_spec) {
  TRY(state, ReadState(container_spec));
  TRY(root, OpenRoot(state));
  return HookCall{std::move(state), std::move(root)};
}

base::Result<const HookCall*> CallInput::Read(std::string_view container_spec) {
  if (!call_ || from_ != container_spec) {
    TRY(call, ReadHookCall(container_spec));
    call_ = std::move(call);
    from_ = container_spec;
  }
  return &*call_;
}

}  // namespace partita::hook
