// The files that say who we are, as they are now. Tokens live for an hour and certificates for a
// year, and both are exchanged below our feet: by a rename, or by a link to another folder. A
// kubeconfig has them written out as often as it names their files.
#pragma once

#include <sys/types.h>

#include <array>
#include <ctime>
#include <optional>
#include <string>

#include "base/result.h"
#include "kube/access.h"

namespace partita::kube {

// One thread. Nothing of it is ever logged.
class Credentials {
 public:
  explicit Credentials(Access access);
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;
  ~Credentials() = default;

  // Looks whether a file is another one or has changed, the kubeconfig first, and reads those.
  // Where one cannot be read that could be read before, what it held stays in force. Errors: a file
  // that was never read.
  [[nodiscard]] base::Result<void> Refresh();
  // The server refused us: whatever the files look like, they are read again. True: they hold
  // something else.
  [[nodiscard]] bool ReadAgain();

  [[nodiscard]] const net::HttpTarget& server() const { return server_; }
  [[nodiscard]] const std::string& token() const { return token_; }  // empty: none
  [[nodiscard]] const Access& access() const { return access_; }
  // Why what the kubeconfig says now is not in force; nothing where it is.
  [[nodiscard]] const std::optional<base::Error>& unused() const { return unused_; }

 private:
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec changed{};
    bool operator==(const Stamp& other) const;
  };
  struct File {
    std::string path;
    std::string* text = nullptr;
    std::optional<Stamp> read;  // what was read last
  };
  [[nodiscard]] static std::optional<Stamp> StampOf(const std::string& path);
  base::Result<void> Refresh(File& file);
  base::Result<void> RefreshKubeconfig();

  Access access_;
  net::HttpTarget server_;
  std::string token_, token_text_;
  std::array<File, 4> files_;
  std::optional<Stamp> kubeconfig_read_;
  std::optional<base::Error> unused_;
};

}  // namespace partita::kube
