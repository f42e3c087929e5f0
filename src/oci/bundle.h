// A bundle that is held: whoever puts another directory or file in its place meanwhile is noticed.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/root_dir.h"
#include "base/unique_fd.h"
#include "oci/spec.h"

namespace partita::oci {

class Bundle {
 public:
  // Follows links once, here.
  [[nodiscard]] static base::Result<Bundle> Open(const std::string& path);

  // Its config.json, a regular file of at most 16 MiB.
  [[nodiscard]] base::Result<Spec> Read();
  // In the place of the config.json that was read, with its owner and mode: written beside it and
  // renamed, so that whoever reads sees the one or the other. kConflict, and nothing is written,
  // where that file is another by now or the bundle's path leads elsewhere.
  [[nodiscard]] base::Result<void> Write(const Spec& spec) const;
  // Of the directory that is held.
  [[nodiscard]] base::Result<struct stat> Look() const;
  // The container's root; the host's own is refused.
  [[nodiscard]] base::Result<base::RootDir> Root(const Spec& spec) const;

 private:
  // Which file it is, and whether somebody wrote to it.
  struct Identity {
    dev_t device;
    ino_t file;
    off_t size;
    std::int64_t seconds, nanoseconds;  // of the last change
    mode_t mode;
    uid_t uid;
    gid_t gid;
    bool operator==(const Identity&) const = default;
  };

  Bundle(base::RootDir directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}
  [[nodiscard]] base::Result<Identity> LookAtConfig() const;
  [[nodiscard]] base::Result<void> CheckUnchanged() const;

  base::RootDir directory_;
  std::string path_;
  std::optional<Identity> read_;
};

}  // namespace partita::oci
