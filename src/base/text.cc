#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "base/characters.h"

namespace partita::base {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";
// Input can be megabytes long; a word that nobody could have meant is not compared.
constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kLongestQuoted = 80;
// Of a snippet's line, and how much of it stands before the place when it is cut.
constexpr std::size_t kWidestLine = 100;
constexpr std::size_t kBeforePlace = 40;

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The bytes of characters [first, first + count) of the text.
std::string_view Characters(std::string_view text, std::size_t first, std::size_t count) {
  for (; !text.empty() && first > 0; --first) text.remove_prefix(DecodeCharacter(text).bytes);
  std::size_t end = 0;
  for (; end < text.size() && count > 0; --count) end += DecodeCharacter(text.substr(end)).bytes;
  return text.substr(0, end);
}

// Without its end; empty when the text has fewer lines.
std::string_view LineOf(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

struct ShownLine {
  std::string text;
  std::size_t before;  // characters before the place
};

ShownLine CutAround(std::string_view line, int before_place) {
  const auto before = static_cast<std::size_t>(before_place);
  if (CountCharacters(line) <= kWidestLine) return {std::string(line), before};
  const std::size_t skipped = before > kWidestLine - kBeforePlace ? before - kBeforePlace : 0;
  const std::string_view window = Characters(line, skipped, kWidestLine);
  const bool more = window.data() + window.size() < line.data() + line.size();
  const std::string text = fmt::format("{}{}{}", skipped > 0 ? "…" : "", window, more ? "…" : "");
  return {text, before - skipped + (skipped > 0 ? 1 : 0)};
}

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::uint64_t kKilo = 1000;
constexpr std::uint64_t kKibi = 1024;
constexpr std::array<SizeUnit, 19> kSizeUnits = {{
    {"", 1},
    {"B", 1},
    {"k", kKilo},
    {"kB", kKilo},
    {"KB", kKilo},
    {"Ki", kKibi},
    {"KiB", kKibi},
    {"M", kKilo* kKilo},
    {"MB", kKilo* kKilo},
    {"Mi", kKibi* kKibi},
    {"MiB", kKibi* kKibi},
    {"G", kKilo* kKilo* kKilo},
    {"GB", kKilo* kKilo* kKilo},
    {"Gi", kKibi* kKibi* kKibi},
    {"GiB", kKibi* kKibi* kKibi},
    {"T", kKilo* kKilo* kKilo* kKilo},
    {"TB", kKilo* kKilo* kKilo* kKilo},
    {"Ti", kKibi* kKibi* kKibi* kKibi},
    {"TiB", kKibi* kKibi* kKibi* kKibi},
}};

// Optimal string alignment distance: insert, remove, replace, swap of neighbours.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines = Split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  for (std::string_view& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return lines;
}

std::vector<std::string_view> SplitWords(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = Trim(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

std::string Join(std::span<const std::string> pieces, std::string_view separator) {
  return fmt::format("{}", fmt::join(pieces, separator));
}

std::string JoinWithOr(std::span<const std::string> pieces) {
  if (pieces.size() < 2) return Join(pieces, "");
  return Join(pieces.first(pieces.size() - 1), ", ") + " or " + pieces.back();
}

std::optional<std::string_view> WithoutPrefix(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), LowerAscii);
  return lower;
}

std::optional<std::uint64_t> ParseUnsigned(std::string_view text, int base) {
  std::uint64_t value = 0;
  // from_chars of an unsigned type takes no sign and no spaces.
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ParseSize(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, digits);
  const std::string_view unit_name = text.substr(digits);
  const auto unit = std::find_if(kSizeUnits.begin(), kSizeUnits.end(),
                                 [&](const SizeUnit& each) { return each.name == unit_name; });
  if (unit == kSizeUnits.end()) return std::nullopt;

  const std::size_t dot = std::min(number.find('.'), number.size());
  const std::optional<std::uint64_t> whole = ParseUnsigned(number.substr(0, dot));
  std::uint64_t bytes = 0;
  if (!whole || __builtin_mul_overflow(*whole, unit->bytes, &bytes)) return std::nullopt;
  if (dot == number.size()) return bytes;

  // Digit by digit: each must leave whole bytes, so the unit is used up exactly.
  const std::string_view fraction = number.substr(dot + 1);
  if (fraction.empty() || fraction.size() > 12 || !ParseUnsigned(fraction)) return std::nullopt;
  std::uint64_t scale = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i) scale *= 10;
  const auto part = static_cast<unsigned __int128>(*ParseUnsigned(fraction)) * unit->bytes;
  if (part % scale != 0) return std::nullopt;
  if (__builtin_add_overflow(bytes, static_cast<std::uint64_t>(part / scale), &bytes))
    return std::nullopt;
  return bytes;
}

std::string DidYouMean(std::string_view word, std::span<const std::string> candidates) {
  if (word.empty() || word.size() > kLongestWord) return "";
  const std::size_t allowed = std::clamp<std::size_t>(word.size() / 3, 1, 3);
  const std::string lower = ToLower(word);
  const std::string* best = nullptr;
  std::size_t best_distance = allowed + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestWord) continue;
    const std::size_t distance = EditDistance(lower, ToLower(candidate));
    // A one-letter word is near every other one; only a difference in case is a hint then.
    const bool unrelated = distance >= std::max(word.size(), candidate.size());
    if (distance < best_distance && !unrelated) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? "" : *best;
}

std::size_t CountCharacters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(DecodeCharacter(text).bytes);
  return count;
}

std::string Wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  bool first_line = true;
  for (const std::string_view line : Split(text, '\n')) {
    if (!first_line) out += '\n';
    if (!first_line && !line.empty()) out += std::string(indent, ' ');
    std::size_t column = first_line ? 0 : indent;
    first_line = false;
    bool first_word = true;
    for (const std::string_view word : SplitWords(line)) {
      const std::size_t length = CountCharacters(word);
      if (!first_word && column + 1 + length > width) {
        out += '\n' + std::string(indent, ' ');
        column = indent;
      } else if (!first_word) {
        out += ' ';
        ++column;
      }
      out += word;
      column += length;
      first_word = false;
    }
  }
  return out;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  std::size_t read = 0;
  while (read < text.size()) {
    const Character next = DecodeCharacter(text.substr(read));
    if (read + next.bytes > kLongestQuoted) break;
    const std::string_view bytes = text.substr(read, next.bytes);
    read += next.bytes;
    if (next.code == U'"' || next.code == U'\\') {
      out += fmt::format("\\{}", bytes);
    } else if (next.code == U'\n') {
      out += "\\n";
    } else if (next.code == U'\t') {
      out += "\\t";
    } else if (IsUnprintable(next.code)) {
      for (const char c : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += bytes;
    }
  }
  const bool cut = read < text.size();
  return out + (cut ? "…\"" : "\"");
}

std::string Snippet(
    std::string_view text, int line, int column, int length, std::string_view hint) {
  const ShownLine shown = CutAround(LineOf(text, line), column > 0 ? column - 1 : 0);
  // The line below repeats tabs, so that the carets stand right wherever tab stops are.
  std::string padding;
  for (std::string_view left = Characters(shown.text, 0, shown.before); !left.empty();
       left.remove_prefix(DecodeCharacter(left).bytes)) {
    padding += left.front() == '\t' ? '\t' : ' ';
  }
  padding.append(shown.before - std::min(shown.before, padding.size()), ' ');
  const std::size_t characters = CountCharacters(shown.text);
  const std::size_t rest = characters - std::min(shown.before, characters);
  const auto wanted = static_cast<std::size_t>(std::max(length, 1));
  const std::string carets(std::max<std::size_t>(1, std::min(wanted, rest)), '^');
  return fmt::format("{:5} | {}\n      | {}{}{}{}", line, Printable(shown.text, "\t"), padding,
                     carets, hint.empty() ? "" : " ", hint);
}

std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+@%-";
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos;
  return plain ? std::string(text) : ShellQuoted(text);
}

}  // namespace partita::base
