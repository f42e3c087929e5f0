#include "kube/base64.h"

#include <cstdint>

namespace partita::kube {

std::optional<std::string> DecodeBase64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t group = 0;
  int digits = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const std::size_t digit = kAlphabet.find(c);
    if (c == '=' ? ++padding > 2 : padding > 0 || digit == std::string_view::npos)
      return std::nullopt;
    group = group << 6U | (c == '=' ? 0U : static_cast<std::uint32_t>(digit));
    if (++digits < 4) continue;
    for (int i = 0; i < 3 - padding; ++i)
      bytes += static_cast<char>(group >> (16U - 8U * static_cast<unsigned>(i)) & 0xFFU);
    group = 0;
    digits = 0;
  }
  // Padding may only end the last group.
  if (digits != 0) return std::nullopt;
  return bytes;
}

}  // namespace partita::kube
