#include "agent/mps/domain_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/files.h"
#include "base/state_file.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::agent::mps {
namespace {

using base::Result;
using service::mps::Directories;
using service::mps::Record;

constexpr mode_t kForAll = 0755;
constexpr mode_t kLikeTmp = 01777;
constexpr std::uint64_t kKibibyte = 1024;
// Where nobody says how much memory there is.
constexpr std::uint64_t kShmKibibytes = 65536;
constexpr std::size_t kMostLog = std::size_t{16} << 20;

Result<void> PrepareDirectory(const std::string& path, mode_t mode = kForAll) {
  TRY_VOID(base::MakeDirectories(path, kForAll));
  if (chmod(path.c_str(), mode) == 0) return {};
  return base::ErrnoError("change the mode of " + path);
}

std::uint64_t HalfOfMemory() {
  struct sysinfo about {};
  if (sysinfo(&about) != 0) return kShmKibibytes;
  const std::uint64_t bytes = std::uint64_t{about.totalram} * about.mem_unit;
  return bytes / kKibibyte / 2;
}

bool IsHeld(const std::string& path) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (path.size() >= sizeof(where.sun_path)) return base::Exists(path);
  std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
  // NVIDIA's are SOCK_SEQPACKET: theirs never see this, which ends with EPROTOTYPE (seen on an
  // H200).
  const base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return base::Exists(path);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0 ||
         (errno != ECONNREFUSED && errno != ENOENT && errno != ENOTDIR);
}

base::StateFile RecordFile(const Directories& directories) {
  return {.path = directories.record, .name = "mps-domain", .version = 1};
}

}  // namespace

Result<void> PrepareDirectories(const Machine& machine, const std::string& name) {
  const Directories directories = service::mps::DirectoriesOf(machine.root, name);
  TRY_VOID(PrepareDirectory(machine.root));
  TRY_VOID(PrepareDirectory(base::JoinPath(machine.root, name)));
  for (const std::string& path : {directories.pipe, directories.log}) {
    TRY_VOID(PrepareDirectory(path));
  }
  return PrepareDirectory(directories.shm, kLikeTmp);
}

Result<void> EmptyPipeDirectory(const Directories& directories) {
  const base::UniqueFd folder(
      open(directories.pipe.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return base::ErrnoError("open " + directories.pipe);
  TRY(names, base::ListDirectory(directories.pipe));
  for (const std::string& name : names) {
    if (unlinkat(folder.get(), name.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno == EISDIR && unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR) == 0) continue;
    return base::ErrnoError("remove " + base::JoinPath(directories.pipe, name))
        .WithHint("a daemon needs this directory for itself: remove what is in it");
  }
  return {};
}

bool IsTmpfsOfItsOwn(const std::string& path) {
  struct stat here {};
  struct stat above {};
  struct statfs about {};
  return stat(path.c_str(), &here) == 0 && stat((path + "/..").c_str(), &above) == 0 &&
         here.st_dev != above.st_dev && statfs(path.c_str(), &about) == 0 &&
         about.f_type == TMPFS_MAGIC;
}

std::string ShmOptions() { return fmt::format("mode=1777,size={}k", HalfOfMemory()); }

Result<void> MountShm(const std::string& path) {
  if (IsTmpfsOfItsOwn(path)) return {};
  const std::string options = ShmOptions();
  if (mount("shm", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME,
            options.c_str()) == 0) {
    return {};
  }
  return base::ErrnoError("mount a tmpfs at " + path)
      .WithHint("containers get a directory instead, and what they leave in /dev/shm stays");
}

void UnmountShm(const std::string& path) {
  if (IsTmpfsOfItsOwn(path)) (void)umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
}

Result<void> WriteRecord(const Directories& directories, const Record& record) {
  return base::WriteState(RecordFile(directories), service::mps::Encode(record));
}

std::optional<Record> ReadRecord(const Directories& directories, std::string* why) {
  Result<base::StateRead> read = base::ReadState(RecordFile(directories));
  if (!read.ok()) {
    *why = read.error().ToString();
    return std::nullopt;
  }
  *why = read->warning;
  if (!read->payload) return std::nullopt;
  Result<Record> record = service::mps::Decode(*read->payload);
  if (record.ok()) return *std::move(record);
  *why = record.error().ToString();
  return std::nullopt;
}

void RemoveRecord(const Directories& directories) {
  // The older one first: alone it would be taken for the record.
  (void)unlink((directories.record + ".bak").c_str());
  (void)unlink(directories.record.c_str());
}

// Whoever has removed one of them has not ended the daemon.
bool IsSocketHeld(const Directories& directories) {
  return IsHeld(base::JoinPath(directories.pipe, "control")) ||
         IsHeld(base::JoinPath(directories.pipe, "control_privileged"));
}

std::string LogFile(const Directories& directories) {
  return base::JoinPath(directories.log, "control.log");
}

std::string LastWords(const Directories& directories) {
  const Result<std::string> log = base::ReadRegularFile(LogFile(directories), kMostLog);
  if (!log.ok()) return "";
  const std::vector<std::string_view> lines = base::SplitLines(*log);
  return lines.empty() ? "" : std::string(lines.back());
}

}  // namespace partita::agent::mps
