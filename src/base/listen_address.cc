#include "base/listen_address.h"

#include <arpa/inet.h>

#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::base {
namespace {

bool IsAddress(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return inet_pton(family, text.c_str(), ignored.data()) == 1;
}

Error NoAddress(std::string_view text) {
  return MakeError(ErrorCode::kInvalid, "{} is no address to listen on", Quoted(text))
      .WithHint("write :9400, 127.0.0.1:9400, [::1]:9400 or unix:/path; \"\" switches it off");
}

}  // namespace

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  ListenAddress address;
  if (text.empty()) return address;
  if (const auto path = WithoutPrefix(text, "unix:")) {
    if (!path->starts_with("/")) return NoAddress(text);
    address.kind = ListenAddress::Kind::kUnix;
    address.path = *path;
    return address;
  }
  address.kind = ListenAddress::Kind::kTcp;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return NoAddress(text);
  const std::optional<std::uint64_t> port = ParseUnsigned(text.substr(colon + 1));
  if (!port || *port > UINT16_MAX) return NoAddress(text);
  address.port = static_cast<std::uint16_t>(*port);
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  address.host = host;
  if (!host.empty() && !IsAddress(bracketed ? AF_INET6 : AF_INET, address.host))
    return NoAddress(text);
  return address;
}

std::string ToString(const ListenAddress& address) {
  switch (address.kind) {
    case ListenAddress::Kind::kOff: return "";
    case ListenAddress::Kind::kUnix: return "unix:" + address.path;
    case ListenAddress::Kind::kTcp: break;
  }
  const bool six = address.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", six ? "[" : "", address.host, six ? "]" : "", address.port);
}

}  // namespace partita::base
