// A directory as the root of everything below it. For trees that somebody else made: a driver's, an
// image's.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::base {

struct FileFacts {
  mode_t mode = 0;
  dev_t device = 0;  // that a device node stands for
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint64_t size = 0;

  [[nodiscard]] bool IsRegular() const { return S_ISREG(mode); }
  [[nodiscard]] bool IsLink() const { return S_ISLNK(mode); }
  [[nodiscard]] bool IsDirectory() const { return S_ISDIR(mode); }
  [[nodiscard]] bool IsCharDevice() const { return S_ISCHR(mode); }
  bool operator==(const FileFacts&) const = default;
};

// Everything below one directory, as a process chrooted there would see it: links, also absolute
// ones, and "..", never lead out, however quickly somebody changes them. Paths are as inside the
// root ("/etc/x"). A path with a NUL byte, a component over 255 bytes or 4096 bytes in all is
// kInvalid. One thread.
class RootDir {
 public:
  // Follows links once, here.
  static Result<RootDir> Open(const std::string& directory);
  // `name` is for messages.
  static Result<RootDir> At(UniqueFd directory, std::string name);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }

  // O_CLOEXEC is added; O_CREAT is never allowed.
  [[nodiscard]] Result<UniqueFd> OpenAt(std::string_view path, int flags) const;
  // Of the last component itself, link or not.
  [[nodiscard]] Result<FileFacts> Look(std::string_view path) const;
  // Regular files only (kInvalid), at most `most` bytes (kInvalid). Nothing else is even opened, so
  // it waits for no FIFO and wakes no device.
  [[nodiscard]] Result<std::string> Read(std::string_view path, std::size_t most) const;
  [[nodiscard]] Result<std::string> ReadLink(std::string_view path) const;
  // Names sorted by byte; absent is kNotFound.
  [[nodiscard]] Result<std::vector<std::string>> List(std::string_view path) const;
  // The path without links, inside the root; all of it must exist.
  [[nodiscard]] Result<std::string> Resolve(std::string_view path) const;
  // Matches of a glob ("*" and "?" within a component, a leading dot too), sorted, with their links
  // as they are; no match is empty, an unreadable directory is skipped.
  [[nodiscard]] std::vector<std::string> Glob(std::string_view pattern) const;
  // The same in a tree of somebody who wishes us ill: every name that is looked at is taken off
  // `names_left`; kInvalid when none is left.
  [[nodiscard]] Result<std::vector<std::string>> GlobWithin(std::string_view pattern,
                                                            std::size_t& names_left) const;

  // Changes below the root: each opens the parent by descriptor once and works there. A link never
  // leads them to another mount than its own (kInvalid): what is mounted may be the host's. A plain
  // path may lie on one.
  // What is there, links followed, O_PATH. `make`: missing directories are made with this mode.
  [[nodiscard]] Result<UniqueFd> OpenToChange(std::string_view path,
                                              std::optional<mode_t> make = std::nullopt) const;
  // Is it on the mount that the root is on?
  [[nodiscard]] Result<bool> IsOnOwnMount(std::string_view path) const;
  // Makes what is missing of the path, also where a link leads to nothing yet; the last one,
  // O_PATH.
  [[nodiscard]] Result<UniqueFd> MakeDirectories(std::string_view path, mode_t mode) const;
  // Never over something that is there (kConflict). Exactly `mode`. Its directory exists.
  [[nodiscard]] Result<void> WriteNew(std::string_view path,
                                      std::string_view bytes,
                                      mode_t mode) const;
  // The whole new file or the old one, never half of it; in the place of whatever was there but a
  // directory, links too. Exactly `mode`. Its directory exists.
  [[nodiscard]] Result<void> Replace(std::string_view path,
                                     std::string_view bytes,
                                     mode_t mode) const;
  // As Replace, but what links lead to is replaced, and keeps its owner and mode; `mode` is for a
  // new file.
  [[nodiscard]] Result<void> Rewrite(std::string_view path,
                                     std::string_view bytes,
                                     mode_t mode) const;
  // A link with this text, in the place of whatever was there but a directory; done when it is
  // there. Missing directories are made (0755).
  [[nodiscard]] Result<void> PutLink(std::string_view target, std::string_view path) const;
  // One after the other, until one fails. A folder that neighbours have in common is gone to once.
  struct NewLink {
    std::string_view target, path;
  };
  [[nodiscard]] Result<void> PutLinks(std::span<const NewLink> links) const;

 private:
  [[nodiscard]] Result<std::vector<std::string>> ListSome(std::string_view path,
                                                          std::size_t most) const;
  RootDir(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  [[nodiscard]] std::string Called(std::string_view path) const;
  [[nodiscard]] Result<std::pair<UniqueFd, std::string>> Parent(std::string_view path,
                                                                bool make) const;

  UniqueFd fd_;
  std::string name_;
};

// /proc/self/fd, seen to be the kernel's: an entry of it is a path for one of our descriptors. Else
// kUnavailable.
[[nodiscard]] Result<UniqueFd> OpenOwnDescriptors();

// The same file behind an O_PATH descriptor, opened with these flags through /proc/self/fd: nobody
// can put another one in its place.
[[nodiscard]] Result<UniqueFd> Reopen(const UniqueFd& path_descriptor, int flags);

// Does this kernel resolve paths beneath a root itself? Where it does not (before 5.6), RootDir
// goes from component to component.
[[nodiscard]] bool HasOpenat2();

}  // namespace partita::base
