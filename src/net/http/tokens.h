// What RFC 9110 lets a name and a value of a header consist of.
#pragma once

#include <algorithm>
#include <string_view>

namespace partita::net {

[[nodiscard]] inline bool IsHttpToken(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

// No control but the tab; bytes that are not ASCII are somebody's text.
[[nodiscard]] inline bool IsHttpFieldValue(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
}

}  // namespace partita::net
