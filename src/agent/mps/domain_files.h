// The directories of a domain on the host, and the record of its daemon.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/mps/runner.h"
#include "base/result.h"
#include "service/mps/protocol.h"
#include "service/mps/record.h"

namespace partita::agent::mps {

// Where daemons run, and which boot this is.
struct Machine {
  std::string root;  // "/run/nvidia/mps"
  std::string boot_id;
  std::shared_ptr<Runner> runner;
};

// All that the daemon and its clients need, 0755 whatever the umask: servers run as the client's
// user, and clients in containers as any; shm is everybody's, as a /dev/shm is. Those that are
// there stay.
[[nodiscard]] base::Result<void> PrepareDirectories(const Machine& machine,
                                                    const std::string& name);

// Takes out what an earlier daemon left there, or somebody put there: a daemon writes through links
// (seen on an H200). The directory itself stays, since containers have it mounted.
[[nodiscard]] base::Result<void> EmptyPipeDirectory(const service::mps::Directories& directories);

// As Runner's, in this process's mounts.
[[nodiscard]] base::Result<void> MountShm(const std::string& path);
// "mode=1777,size=…k": of that tmpfs.
[[nodiscard]] std::string ShmOptions();
[[nodiscard]] bool IsTmpfsOfItsOwn(const std::string& path);
void UnmountShm(const std::string& path);

[[nodiscard]] base::Result<void> WriteRecord(const service::mps::Directories& directories,
                                             const service::mps::Record& record);
// Nothing: there is none, or none that can be read; `why`, where it is damaged.
[[nodiscard]] std::optional<service::mps::Record> ReadRecord(
    const service::mps::Directories& directories, std::string* why);
void RemoveRecord(const service::mps::Directories& directories);

// Whether some process has one of a daemon's sockets, or that cannot be told. For the file of a
// process that has ended the kernel refuses. Nobody is disturbed.
[[nodiscard]] bool IsSocketHeld(const service::mps::Directories& directories);

// What the daemon says, and a clean start for it.
[[nodiscard]] std::string LogFile(const service::mps::Directories& directories);
// The last line of the log, for a message; empty without one.
[[nodiscard]] std::string LastWords(const service::mps::Directories& directories);

}  // namespace partita::agent::mps
