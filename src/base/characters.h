// Characters of UTF-8 text, and which of them a terminal must not see.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace partita::base {

// What stands for a byte that is not UTF-8.
inline constexpr char32_t kBroken = 0xFFFFFFFF;

struct Character {
  char32_t code;
  std::size_t bytes;
};

// The first character of a text that is not empty.
[[nodiscard]] Character DecodeCharacter(std::string_view text);

// Appends the character in UTF-8. The code is one that UTF-8 has: up to 0x10FFFF, no surrogate.
void PutUtf8(std::string& text, char32_t code);

// The longest beginning of at most so many bytes that ends between two characters; a byte that is
// not UTF-8 counts as one.
[[nodiscard]] std::string_view CutAtCharacter(std::string_view text, std::size_t most);

// Controls, broken bytes, and the marks that reorder or hide what stands beside them.
[[nodiscard]] bool IsUnprintable(char32_t code);

[[nodiscard]] bool HasUnprintable(std::string_view text);

[[nodiscard]] constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

enum class Charset : bool { kAscii, kUtf8 };

// With '?' for what is unprintable or outside of the charset, except the characters of `kept`: a
// process chooses its own name, and whoever reads a message about it may be root on a terminal.
[[nodiscard]] std::string Printable(std::string_view text,
                                    std::string_view kept = "",
                                    Charset charset = Charset::kUtf8);

}  // namespace partita::base
