// The words of TOML 1.0: numbers, booleans, dates, and text in quotes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::config {

// A value that is no text, as it reads without "_" between digits; nothing when the word is none.
// Whole numbers fit 64 bits, dates and times exist.
[[nodiscard]] std::optional<std::string> ReadTomlWord(std::string_view word);

// How much of the text is such a word: a date and a time may have one space between them.
[[nodiscard]] std::size_t TomlWordLength(std::string_view text);

// Text in quotes of any of the four kinds, at the beginning of `text`.
struct TomlString {
  std::string text;
  std::size_t length = 0;  // with its quotes
};
struct TomlStringFault {
  std::size_t at = 0;  // of `text`
  std::string message, hint;
};
// `fault` says what is wrong when nothing is returned. Keys may not have more than one line.
[[nodiscard]] std::optional<TomlString> ReadTomlString(std::string_view text,
                                                       bool one_line,
                                                       TomlStringFault& fault);

// The text in quotes, as a value or a key.
[[nodiscard]] std::string TomlQuoted(std::string_view text);
// A part of a dotted key: bare where it may be.
[[nodiscard]] std::string TomlKey(std::string_view part);
[[nodiscard]] bool IsBareTomlKey(std::string_view part);

}  // namespace partita::config
