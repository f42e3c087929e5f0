// Small work on text: pieces, numbers, suggestions, and the two lines that show a place in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace partita::base {

// Without spaces, tabs and line ends on either side.
[[nodiscard]] std::string_view Trim(std::string_view text);

// "a,,b" by ',' is three pieces, the second empty; "" is one empty piece.
[[nodiscard]] std::vector<std::string_view> Split(std::string_view text, char separator);

// Lines without their ends; a last line without a newline counts, an empty one after it does not.
[[nodiscard]] std::vector<std::string_view> SplitLines(std::string_view text);

// The pieces between runs of spaces and tabs.
[[nodiscard]] std::vector<std::string_view> SplitWords(std::string_view text);

[[nodiscard]] std::string Join(std::span<const std::string> pieces, std::string_view separator);

// "a", "a or b", "a, b or c".
[[nodiscard]] std::string JoinWithOr(std::span<const std::string> pieces);

// What follows the prefix, when the text begins with it.
[[nodiscard]] std::optional<std::string_view> WithoutPrefix(std::string_view text,
                                                            std::string_view prefix);

// ASCII only, whatever the locale.
[[nodiscard]] std::string ToLower(std::string_view text);

// The whole text must be digits of the base; no sign, no spaces, no "0x". Too large is nothing.
[[nodiscard]] std::optional<std::uint64_t> ParseUnsigned(std::string_view text, int base = 10);
// The same with an optional "-".
[[nodiscard]] std::optional<std::int64_t> ParseInteger(std::string_view text);

// Bytes: "4096", "4GiB", "4Gi", "40GB", "1.5GiB". B; kB/KB/k, MB/M, GB/G, TB/T are powers of 1000;
// KiB/Ki, MiB/Mi, GiB/Gi, TiB/Ti of 1024. A fraction must come out as whole bytes.
[[nodiscard]] std::optional<std::uint64_t> ParseSize(std::string_view text);

// The candidate that the word was probably meant to be, or "" when none is near. Counts inserted,
// removed, replaced and swapped characters, without regard to case; the first of the nearest wins.
[[nodiscard]] std::string DidYouMean(std::string_view word,
                                     std::span<const std::string> candidates);

// Code points, for columns and padding. A byte that is not UTF-8 counts as one.
[[nodiscard]] std::size_t CountCharacters(std::string_view text);

// Breaks at spaces so that no line is longer than `width`, unless a single word is. Newlines in the
// text stay. Every line but the first begins with `indent` spaces.
[[nodiscard]] std::string Wrap(std::string_view text, std::size_t width, std::size_t indent = 0);

// The text in double quotes, with what would disturb a terminal or a line written as escapes;
// longer than 80 bytes is cut with "…".
[[nodiscard]] std::string Quoted(std::string_view text);

// 'text', a word of a command line of sh, bash and zsh.
[[nodiscard]] std::string ShellQuoted(std::string_view text);
// The same, but as it is where it needs no quotes.
[[nodiscard]] std::string ShellWord(std::string_view text);

// The source line of a place, and below it carets with a hint:
//
//     7 |         1g.18bg: 7
//       |         ^^^^^^^ did you mean "1g.18gb"?
//
// `line` and `column` count from 1, columns in characters; `length` characters get carets (at least
// one). Lines over 100 characters are cut around the place. Ends without a newline.
[[nodiscard]] std::string Snippet(
    std::string_view text, int line, int column, int length, std::string_view hint);

}  // namespace partita::base
