// Where a server listens, as people write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::base {

struct ListenAddress {
  enum class Kind : std::uint8_t { kOff, kTcp, kUnix };
  Kind kind = Kind::kOff;
  std::string host;        // kTcp: a numeric address without brackets; empty: all of the machine
  std::uint16_t port = 0;  // kTcp: 0 lets the kernel choose
  std::string path;        // kUnix
  bool operator==(const ListenAddress&) const = default;
};

// ":9400", "127.0.0.1:9400", "[::1]:9400", "unix:/run/x.sock"; "" is off. Names are not resolved.
[[nodiscard]] Result<ListenAddress> ParseListenAddress(std::string_view text);
[[nodiscard]] std::string ToString(const ListenAddress& address);

}  // namespace partita::base
