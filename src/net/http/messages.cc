#include "net/http/messages.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "net/http/tokens.h"

namespace partita::net {
namespace {

bool IsSixAddress(std::string_view host) {
  in6_addr six{};
  return inet_pton(AF_INET6, std::string(host).c_str(), &six) == 1;
}

base::Result<void> CheckRequest(const HttpClientRequest& request) {
  const auto refused = [](std::string_view what, std::string_view text) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} is no {} of an HTTP request",
                           base::Quoted(text), what);
  };
  if (!IsHttpToken(request.method)) return refused("method", request.method);
  const bool plain = std::all_of(request.path.begin(), request.path.end(),
                                 [](char c) { return c > 0x20 && c < 0x7F; });
  if (!request.path.starts_with('/') || !plain) return refused("path", request.path);
  for (const auto& [name, value] : request.headers) {
    if (!IsHttpToken(name)) return refused("header", name);
    // The value may be a token that nobody should read in a log.
    if (!IsHttpFieldValue(value))
      return base::MakeError(base::ErrorCode::kInvalid, "the header {} has a control character",
                             name);
  }
  return {};
}

}  // namespace

bool IsAddress(std::string_view host) {
  in_addr four{};
  return IsSixAddress(host) || inet_pton(AF_INET, std::string(host).c_str(), &four) == 1;
}

std::string Authority(const HttpTarget& target) {
  if (IsSixAddress(target.host)) return fmt::format("[{}]:{}", target.host, target.port);
  return fmt::format("{}:{}", target.host, target.port);
}

bool IsRepeatable(const HttpClientRequest& request) {
  static constexpr std::array<std::string_view, 5> kIdempotent = {"GET", "HEAD", "OPTIONS", "PUT",
                                                                  "DELETE"};
  return request.repeatable ||
         std::find(kIdempotent.begin(), kIdempotent.end(), request.method) != kIdempotent.end();
}

base::Result<std::string> RenderRequest(const HttpClientRequest& request,
                                        const HttpTarget& target) {
  TRY_VOID(CheckRequest(request));
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.path,
                                 Authority(target));
  for (const auto& [name, value] : request.headers) text += fmt::format("{}: {}\r\n", name, value);
  const bool may_have_none = request.method == "GET" || request.method == "HEAD";
  if (!request.body.empty() || !may_have_none)
    text += fmt::format("Content-Length: {}\r\n", request.body.size());
  text += "\r\n";
  text += request.body;
  return text;
}

}  // namespace partita::net
