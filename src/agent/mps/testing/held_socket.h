// A daemon's socket, as NVIDIA's control daemon makes it.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "base/unique_fd.h"

namespace partita::agent::mps::testing {

// Bound for as long as the descriptor is there. The file stays, as that of a daemon that was
// killed.
inline base::UniqueFd HoldSocket(const std::string& path) {
  base::UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un where{.sun_family = AF_UNIX, .sun_path = {}};
  EXPECT_LT(path.size(), sizeof(where.sun_path));
  std::memcpy(where.sun_path, path.data(), path.size());
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0) << path;
  EXPECT_EQ(listen(fd.get(), 1), 0) << path;
  return fd;
}

}  // namespace partita::agent::mps::testing
