// The head of an HTTP/1.1 request, as far as a server of small documents needs it: GET and HEAD,
// no body. docs/decisions/009 says why it is our own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

namespace partita::net {

inline constexpr std::size_t kMostHttpHead = 8192;

struct HttpRequest {
  std::string method;  // "GET" or "HEAD"
  std::string path;    // "/readyz", as it came: nothing is decoded
  std::string query;   // behind "?"
  bool operator==(const HttpRequest&) const = default;
};

// The status that a request is refused with: 400, 405, 413, 414, 431, 505.
struct HttpRefusal {
  int status;
  bool operator==(const HttpRefusal&) const = default;
};

// Nothing while the head is not all there. What was understood is taken off the input.
[[nodiscard]] std::optional<std::variant<HttpRequest, HttpRefusal>> TakeHttpRequest(
    std::string& input);

}  // namespace partita::net
