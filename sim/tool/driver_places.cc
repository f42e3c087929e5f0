#include "sim/tool/driver_places.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "sim/tool/mounts.h"
#include "sim/tool/view.h"

namespace partita::sim::tool {
namespace {

constexpr const char* kCache = "/etc/ld.so.cache";

// Without links; empty when there is no such thing.
std::string Resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), free);
  return real ? real.get() : "";
}

// /bin only where it is a folder of its own, as in small build roots.
std::string ProgramFolder() {
  const std::string usual = Resolved("/usr/bin");
  return usual.empty() ? Resolved("/bin") : usual;
}

// A folder without a firmware directory gets one; that is seldom missing on real machines.
struct Layer {
  std::string from, over;
};
Layer FirmwareLayer() {
  const std::string firmware = Resolved("/lib/firmware");
  if (!firmware.empty()) return {kViewRoot + "/lib/firmware", firmware};
  return {kViewRoot + "/lib", Resolved("/lib")};
}

struct stat StatusOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) status = {};
  return status;
}

bool SameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// In the child: the host's ldconfig, whose notes about libraries must not reach the host's.
[[noreturn]] void WriteCache(const char* path) {
  constexpr const char* kNotes = "/var/cache/ldconfig";
  if (base::Exists(kNotes) && (unshare(CLONE_NEWNS) != 0 || !MountEmpty(kNotes).ok())) _exit(1);
  for (const char* program : {"/sbin/ldconfig", "/usr/sbin/ldconfig"}) {
    execl(program, "ldconfig", "-X", "-C", path, nullptr);
  }
  _exit(127);
}

base::Result<void> RunLdconfig(const std::string& path) {
  const pid_t child = fork();
  if (child < 0) return base::ErrnoError("start ldconfig");
  if (child == 0) WriteCache(path.c_str());
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return base::ErrnoError("wait for ldconfig");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return base::MakeError(base::ErrorCode::kInternal, "ldconfig made no cache of the node at {}",
                         path)
      .WithHint("install it (Debian: libc-bin): programs find the node's libraries through it");
}

// The cache knows the node's libraries beside the host's. It is made again when the host's has
// changed: it carries the time of the one that it was made after. A machine without a cache
// searches its folders, and finds the node's libraries in them.
base::Result<void> ShowLoaderCache() {
  if (!base::Exists(kCache)) return {};
  const struct stat host = StatusOf(kCache);
  const std::string ours = kViewRoot + kCache;
  if (!SameTime(StatusOf(ours).st_mtim, host.st_mtim)) {
    TRY_VOID(base::MakeDirectories(kViewRoot + "/etc", 0755));
    const std::string fresh = fmt::format("{}.{}", ours, getpid());
    TRY_VOID(RunLdconfig(fresh));
    const timespec times[2] = {host.st_mtim, host.st_mtim};
    if (utimensat(AT_FDCWD, fresh.c_str(), times, 0) != 0 ||
        rename(fresh.c_str(), ours.c_str()) != 0) {
      return base::ErrnoError("rename " + fresh + " to " + ours);
    }
  }
  return Bind(ours, kCache);
}

// glibc before 2.34 has its version in the name.
bool IsLibc(std::string_view file) {
  return file.starts_with("libc.so.") || file.starts_with("libc-2.");
}

}  // namespace

base::Result<std::string> LibraryFolder() {
  TRY(maps, base::ReadFile("/proc/self/maps"));
  for (const std::string_view line : base::Split(maps, '\n')) {
    const std::size_t path = line.find('/'), name = line.rfind('/');
    if (path == std::string_view::npos || !IsLibc(line.substr(name + 1))) continue;
    return std::string(line.substr(path, name - path));
  }
  return base::MakeError(base::ErrorCode::kInternal, "partita-sim has loaded no libc.so")
      .WithHint("build it with the shared libc of this machine");
}

base::Result<void> ShowDriverPlaces(const std::string& libraries) {
  const std::vector<Layer> layers = {{kViewRoot + "/usr/bin", ProgramFolder()},
                                     {kViewRoot + "/usr/lib64", libraries},
                                     FirmwareLayer()};
  for (const Layer& layer : layers) TRY_VOID(Overlay(layer.from, layer.over));
  return ShowLoaderCache();
}

}  // namespace partita::sim::tool
