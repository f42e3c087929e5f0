// What is asked of an HTTP server and what it answers, as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace partita::net {

// One server, and how to know it.
struct HttpTarget {
  std::string host{};  // a name, or an IP address without brackets
  std::uint16_t port = 443;
  bool tls = true;
  // Whoever one of these certificates signed, and nobody else; the system's are never looked at.
  // Empty: TLS is refused, unless insecure_skip_verify.
  std::string ca_pem{};
  std::string server_name{};  // whom the certificate must name; empty: the host
  std::string client_cert_pem{}, client_key_pem{};  // empty: we show none
  bool insecure_skip_verify = false;
  bool operator==(const HttpTarget&) const = default;
};

// "host:port", as messages name it; IPv6 addresses in brackets.
[[nodiscard]] std::string Authority(const HttpTarget& target);
// Without a name: certificates hold addresses apart, and there is nothing to look up.
[[nodiscard]] bool IsAddress(std::string_view host);

struct HttpClientRequest {
  std::string method{};  // "GET"
  std::string path{};    // "/api/v1/nodes?limit=5": nothing is encoded any more
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  // Sent twice it does what it does once, though its method does not say so: it may be sent again
  // on another connection where the server closed the first meanwhile.
  bool repeatable = false;
};

using HttpHeaders = std::map<std::string, std::string, std::less<>>;

struct HttpClientAnswer {
  int status = 0;
  HttpHeaders headers{};  // lower-case; several of one name are joined by ", "
  std::string body{};
  bool operator==(const HttpClientAnswer&) const = default;
};

// GET, HEAD, OPTIONS, PUT, DELETE, or said so.
[[nodiscard]] bool IsRepeatable(const HttpClientRequest& request);

// The bytes that are sent. kInvalid where a part would be read as something else than it is.
[[nodiscard]] base::Result<std::string> RenderRequest(const HttpClientRequest& request,
                                                      const HttpTarget& target);

}  // namespace partita::net
