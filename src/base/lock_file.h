// A file that one process at a time holds. The kernel ends the hold with the process, however that
// ends; what the file says of its holder is for messages, the lock itself decides.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::base {

class LockFile {
 public:
  // Makes its directory (0755) where it is missing. Only this user and root can open it: whoever
  // may read a file may lock it.
  [[nodiscard]] static Result<LockFile> Open(std::string path);

  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;
  LockFile(LockFile&&) = default;
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();

  // Whether it is ours now. `command` tells the next one who we are: "partita mig apply".
  [[nodiscard]] Result<bool> Try(const std::string& command);
  // "pid 4711 (partita mig apply)", of whoever holds it.
  [[nodiscard]] std::string Holder() const;
  // Somebody removed the file, or put another in its place: who opens it now is not kept out.
  [[nodiscard]] bool Lost() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LockFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
  bool held_ = false;
};

}  // namespace partita::base
