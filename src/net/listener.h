// A socket that listens, and its file if it has one.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/listen_address.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/loop.h"

namespace partita::net {

class Listener {
 public:
  // Bound and listening; nobody is accepted before Start. A unix socket appears under its path when
  // it can be connected to, with exactly this mode, and takes the place of one that a dead process
  // left; anything else at that path is an error. kBusy: another process has the port.
  [[nodiscard]] static base::Result<std::unique_ptr<Listener>> Open(
      const base::ListenAddress& address, mode_t mode = 0600);

  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  // Removes the file, unless another one is there by now.
  ~Listener();

  // The loop's thread, from here on. Each connection is given away, non-blocking. Where the process
  // has no descriptor left, it waits a second instead of trying without end.
  void Start(Loop& loop, const std::string& name, std::function<void(base::UniqueFd)> accepted);

  // With the port that the kernel chose.
  [[nodiscard]] const base::ListenAddress& address() const { return address_; }
  // Somebody removed its file, or put another in its place: nobody can connect.
  [[nodiscard]] bool Lost() const;

 private:
  Listener(base::ListenAddress address, base::UniqueFd fd)
      : address_(std::move(address)), fd_(std::move(fd)) {}
  void Accept();
  void Listen();

  base::ListenAddress address_;
  base::UniqueFd fd_;
  ino_t inode_ = 0;  // of the file; 0: none
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Timer> pause_;
  std::function<void(base::UniqueFd)> accepted_;
};

}  // namespace partita::net
