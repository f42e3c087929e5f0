#include "net/http/name_lookup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>

#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace partita::net {
namespace {

// In the order of RFC 6724, as the system sorts them.
base::Result<SocketAddresses> Resolve(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (failed != 0) {
    return base::MakeError(base::ErrorCode::kUnavailable, "no address of {}: {}", host,
                           failed == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(failed));
  }
  SocketAddresses addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  freeaddrinfo(found);
  return addresses;
}

}  // namespace

// Between the thread and whoever asked. The loop is touched only while the latter is there, since
// nothing else says that the loop still is.
struct NameLookup::Asked {
  std::mutex mutex;
  Loop* loop = nullptr;  // null: nobody asks any more
  Answer answer;         // loop's thread only
};

SocketAddresses AddressesWritten(const std::string& host, std::uint16_t port) {
  SocketAddress address;
  auto& four = reinterpret_cast<sockaddr_in&>(address.bytes);
  auto& six = reinterpret_cast<sockaddr_in6&>(address.bytes);
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    address.size = sizeof(four);
  } else if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    address.size = sizeof(six);
  } else {
    return {};
  }
  return {address};
}

NameLookup::NameLookup(Loop& loop, std::string host, std::uint16_t port, Answer answer)
    : asked_(std::make_shared<Asked>()) {
  asked_->loop = &loop;
  asked_->answer = std::move(answer);
  const auto tell = [asked = asked_](base::Result<SocketAddresses> result) {
    const std::lock_guard lock(asked->mutex);
    if (asked->loop == nullptr) return;
    asked->loop->Post([asked, result = std::move(result)]() mutable {
      if (asked->loop != nullptr) asked->answer(std::move(result));
    });
  };
  try {
    std::thread([tell, host = std::move(host), port] {
      pthread_setname_np(pthread_self(), "name-lookup");
      tell(Resolve(host, port));
    }).detach();
  } catch (const std::system_error& error) {
    tell(base::MakeError(base::ErrorCode::kIo, "no thread to look up a name: {}", error.what()));
  }
}

NameLookup::~NameLookup() {
  const std::lock_guard lock(asked_->mutex);
  asked_->loop = nullptr;
}

}  // namespace partita::net
