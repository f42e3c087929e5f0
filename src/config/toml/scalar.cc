#include "config/toml/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"

namespace partita::config {
namespace {

using base::IsDigit;

bool IsWordCharacter(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
         c == '_' || c == '.' || c == ':';
}

// Digits of the base with single "_" between them, and nothing else.
bool AreDigits(std::string_view text, std::string_view digits) {
  bool after_digit = false;
  for (const char c : text) {
    const bool digit = digits.find(c) != std::string_view::npos;
    if (!digit && !(c == '_' && after_digit)) return false;
    after_digit = digit;
  }
  return after_digit;
}

constexpr std::string_view kDecimal = "0123456789";

bool AreDecimal(std::string_view text) { return AreDigits(text, kDecimal); }

std::string WithoutUnderscores(std::string_view text) {
  std::string out(text);
  std::erase(out, '_');
  return out;
}

std::string_view WithoutSign(std::string_view word) {
  return word.starts_with('+') || word.starts_with('-') ? word.substr(1) : word;
}

// No zeros in front of other digits.
bool IsWholePart(std::string_view text) {
  return AreDecimal(text) && (text.size() == 1 || text[0] != '0');
}

std::optional<std::string> ReadPrefixed(std::string_view word) {
  struct Row {
    std::string_view prefix, digits;
    int base;
  };
  static constexpr std::array<Row, 3> kRows = {
      {{"0x", "0123456789abcdefABCDEF", 16}, {"0o", "01234567", 8}, {"0b", "01", 2}}};
  for (const Row& row : kRows) {
    if (!word.starts_with(row.prefix) || !AreDigits(word.substr(2), row.digits)) continue;
    const std::string digits = WithoutUnderscores(word.substr(2));
    const std::optional<std::uint64_t> number = base::ParseUnsigned(digits, row.base);
    if (!number || *number > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    return std::string(row.prefix) + digits;
  }
  return std::nullopt;
}

std::optional<std::string> IntegerOf(std::string_view word) {
  if (!IsWholePart(WithoutSign(word))) return std::nullopt;
  std::string number = WithoutUnderscores(word);
  if (number[0] == '+') number.erase(0, 1);
  if (!base::ParseInteger(number)) return std::nullopt;
  return number;
}

bool IsFloat(std::string_view word) {
  word = WithoutSign(word);
  if (word == "inf" || word == "nan") return true;
  const std::size_t exponent = word.find_first_of("eE");
  std::string_view mantissa = word.substr(0, exponent);
  if (exponent != std::string_view::npos && !AreDecimal(WithoutSign(word.substr(exponent + 1))))
    return false;
  const std::size_t point = mantissa.find('.');
  if (point == std::string_view::npos)
    return exponent != std::string_view::npos && IsWholePart(mantissa);
  return IsWholePart(mantissa.substr(0, point)) && AreDecimal(mantissa.substr(point + 1));
}

// A number that no double can hold is refused, as every reader does; "inf" is one that can.
std::optional<std::string> FiniteOrNamed(std::string number) {
  const std::string_view digits = WithoutSign(number);
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

// "dddd-dd-dd" against "0000-00-00": digits where the form has "0".
bool HasForm(std::string_view text, std::string_view form) {
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (form[i] == '0' ? !IsDigit(text[i]) : text[i] != form[i]) return false;
  }
  return true;
}

int Number(std::string_view digits) {
  return static_cast<int>(base::ParseUnsigned(digits).value_or(0));
}

bool IsDate(std::string_view text) {
  if (!HasForm(text, "0000-00-00")) return false;
  static constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int year = Number(text.substr(0, 4)), month = Number(text.substr(5, 2)),
            day = Number(text.substr(8, 2));
  if (month < 1 || month > 12 || day < 1) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return day <= kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

bool IsHourAndMinute(std::string_view text) {
  return HasForm(text, "00:00") && Number(text.substr(0, 2)) < 24 && Number(text.substr(3)) < 60;
}

bool IsTime(std::string_view text) {
  if (text.size() < 8 || !IsHourAndMinute(text.substr(0, 5)) || !HasForm(text.substr(5, 3), ":00"))
    return false;
  if (Number(text.substr(6, 2)) > 59) return false;
  if (text.size() == 8) return true;
  const std::string_view fraction = text.substr(9);
  return text[8] == '.' && !fraction.empty() &&
         fraction.find_first_not_of(kDecimal) == std::string_view::npos;
}

bool IsDateOrTime(std::string_view word) {
  if (IsTime(word)) return true;
  if (!IsDate(word.substr(0, 10))) return false;
  if (word.size() == 10) return true;
  if (std::string_view("Tt ").find(word[10]) == std::string_view::npos) return false;
  std::string_view time = word.substr(11);
  if (time.ends_with('Z') || time.ends_with('z')) {
    time.remove_suffix(1);
  } else if (time.size() > 6 && (time[time.size() - 6] == '+' || time[time.size() - 6] == '-')) {
    if (!IsHourAndMinute(time.substr(time.size() - 5))) return false;
    time.remove_suffix(6);
  }
  return IsTime(time);
}

// One reading of a text in quotes.
class StringReader {
 public:
  StringReader(std::string_view text, TomlStringFault& fault) : text_(text), fault_(fault) {}

  std::optional<TomlString> Read(bool one_line) {
    const char quote = text_[0];
    const std::string three(3, quote);
    const bool many_lines = text_.starts_with(three);
    if (many_lines && one_line) return Fail(0, "a key has one line, and quotes of one");
    at_ = many_lines ? 3 : 1;
    if (many_lines) SkipNewline();
    return many_lines ? ReadLines(three) : ReadLine(quote);
  }

 private:
  std::nullopt_t Fail(std::size_t at, std::string message, std::string hint = "") {
    fault_ = {at, std::move(message), std::move(hint)};
    return std::nullopt;
  }

  bool SkipNewline() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("\r\n")) return at_ += 2, true;
    if (rest.starts_with('\n')) return at_ += 1, true;
    return false;
  }

  std::optional<TomlString> ReadLine(char quote) {
    while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') {
      if (text_[at_] == quote) return TomlString{std::move(out_), at_ + 1};
      if (!Take(quote == '"', false)) return std::nullopt;
    }
    return Fail(0, "a text without its closing quote");
  }

  std::optional<TomlString> ReadLines(const std::string& three) {
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with(three)) {
        // One or two quotes may stand before the closing three.
        std::size_t end = at_ + 3;
        while (end < text_.size() && end < at_ + 5 && text_[end] == three[0]) ++end;
        out_ += text_.substr(at_, end - at_ - 3);
        return TomlString{std::move(out_), end};
      }
      if (!Take(three[0] == '"', true)) return std::nullopt;
    }
    return Fail(0, "a text without its closing quotes");
  }

  bool Take(bool escapes, bool many_lines) {
    if (!escapes || text_[at_] != '\\') {
      out_ += text_[at_++];
      return true;
    }
    const std::size_t begin = at_++;
    if (many_lines && SkipLineEnd()) return true;
    static constexpr std::string_view kNames = "btnfr\"\\", kMeanings = "\b\t\n\f\r\"\\";
    const char name = at_ < text_.size() ? text_[at_] : '\0';
    if (const std::size_t known = kNames.find(name); name != '\0' && known != kNames.npos) {
      ++at_;
      out_ += kMeanings[known];
      return true;
    }
    if (name != 'u' && name != 'U') return Fail(begin, "an unknown escape", InPlace()), false;
    const std::size_t digits = name == 'u' ? 4 : 8;
    const std::string_view hex = text_.substr(at_ + 1, digits);
    const std::optional<std::uint64_t> code = base::ParseUnsigned(hex, 16);
    if (hex.size() != digits || !code || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000))
      return Fail(begin, fmt::format("\\{} is followed by {} hexadecimal digits of a character",
                                     name, digits)),
             false;
    base::PutUtf8(out_, static_cast<char32_t>(*code));
    at_ += 1 + digits;
    return true;
  }

  // For an escape that TOML 1.0 does not have: 1.1 has \xHH and \e.
  [[nodiscard]] std::string InPlace() const {
    const std::string_view hex = text_.substr(std::min(at_ + 1, text_.size()), 2);
    if (text_.substr(at_).starts_with('x') && hex.size() == 2 && base::ParseUnsigned(hex, 16))
      return fmt::format("write \\u00{} for it", hex);
    return "write \\\\ for a backslash, \\uHHHH for any character";
  }

  // "\" at the end of a line takes all white space behind it away.
  bool SkipLineEnd() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (!SkipNewline()) return at_ = begin, false;
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return true;
  }

  std::string_view text_;
  TomlStringFault& fault_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::optional<std::string> ReadTomlWord(std::string_view word) {
  if (word == "true" || word == "false") return std::string(word);
  if (word.empty()) return std::nullopt;
  if (std::optional<std::string> prefixed = ReadPrefixed(word)) return prefixed;
  if (std::optional<std::string> integer = IntegerOf(word)) return integer;
  if (IsFloat(word)) return FiniteOrNamed(WithoutUnderscores(word));
  if (IsDateOrTime(word)) return std::string(word);
  return std::nullopt;
}

std::size_t TomlWordLength(std::string_view text) {
  const auto end = [&](std::size_t at) {
    while (at < text.size() && IsWordCharacter(text[at])) ++at;
    return at;
  };
  const std::size_t length = end(0);
  const bool time_follows = length == 10 && HasForm(text.substr(0, 10), "0000-00-00") &&
                            HasForm(text.substr(10, 4), " 00:");
  return time_follows ? end(11) : length;
}

std::optional<TomlString> ReadTomlString(std::string_view text,
                                         bool one_line,
                                         TomlStringFault& fault) {
  return StringReader(text, fault).Read(one_line);
}

std::string TomlQuoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

bool IsBareTomlKey(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
    return IsWordCharacter(c) && c != '+' && c != '.' && c != ':';
  });
}

std::string TomlKey(std::string_view part) {
  return IsBareTomlKey(part) ? std::string(part) : TomlQuoted(part);
}

}  // namespace partita::config
