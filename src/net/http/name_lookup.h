// Addresses of a name, asked of the system on a thread of its own: its answer may take half a
// minute, and the loop does not wait.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/loop.h"

namespace partita::net {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};
using SocketAddresses = std::vector<SocketAddress>;

// An IP address as it is written; empty for a name.
[[nodiscard]] SocketAddresses AddressesWritten(const std::string& host, std::uint16_t port);

// Loop's thread only. Destroyed, nobody hears of the answer any more; the thread ends by itself.
class NameLookup {
 public:
  using Answer = std::function<void(base::Result<SocketAddresses>)>;
  // kUnavailable: there is no such name, or nobody who could say.
  NameLookup(Loop& loop, std::string host, std::uint16_t port, Answer answer);
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;
  ~NameLookup();

 private:
  struct Asked;
  std::shared_ptr<Asked> asked_;
};

}  // namespace partita::net
