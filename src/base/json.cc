#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/characters.h"

namespace partita::base {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Value> ReadAll() {
    std::optional<Value> value = ReadValue(0);
    if (value) SkipSpace();
    if (value && at_ != text_.size()) value = Fail("something stands after the value");
    if (!value)
      return MakeError(ErrorCode::kInvalid, "no valid JSON at byte {}: {}", at_, problem_);
    return *std::move(value);
  }

 private:
  std::nullopt_t Fail(std::string_view problem) {
    if (problem_.empty()) problem_ = problem;
    return std::nullopt;
  }

  [[nodiscard]] char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != text_.npos) ++at_;
  }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::optional<Value> ReadValue(int depth) {
    if (depth > kMostJsonDepth) return Fail("too deep");
    SkipSpace();
    switch (Peek()) {
      case '{': return ReadMap(depth);
      case '[': return ReadList(depth);
      case '"': {
        std::optional<std::string> text = ReadString();
        if (!text) return std::nullopt;
        return Value(*std::move(text));
      }
      case 't': return ReadWord("true", true);
      case 'f': return ReadWord("false", false);
      case 'n': return ReadWord("null", nullptr);
      default: return ReadNumber();
    }
  }

  std::optional<Value> ReadWord(std::string_view word, Value value) {
    if (!text_.substr(at_).starts_with(word)) return Fail("a value is expected");
    at_ += word.size();
    return value;
  }

  std::optional<Value> ReadMap(int depth) {
    std::vector<Value::Member> members;
    ++at_;
    SkipSpace();
    if (Take('}')) return Value::Map();
    for (;;) {
      SkipSpace();
      if (Peek() != '"') return Fail("a key in quotes is expected");
      std::optional<std::string> key = ReadString();
      if (!key) return std::nullopt;
      SkipSpace();
      if (!Take(':')) return Fail("\":\" is expected");
      std::optional<Value> value = ReadValue(depth + 1);
      if (!value) return std::nullopt;
      members.push_back({*std::move(key), *std::move(value)});
      SkipSpace();
      if (Take('}')) break;
      if (!Take(',')) return Fail("\",\" or \"}\" is expected");
    }
    if (HasTwins(members)) return Fail("a key is there twice");
    return Value::MapOf(std::move(members));
  }

  // Sorted, not each against each: a peer chooses how many there are.
  static bool HasTwins(const std::vector<Value::Member>& members) {
    std::vector<std::string_view> keys;
    keys.reserve(members.size());
    for (const Value::Member& member : members) keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
  }

  std::optional<Value> ReadList(int depth) {
    Value list = Value::List();
    ++at_;
    SkipSpace();
    if (Take(']')) return list;
    for (;;) {
      std::optional<Value> value = ReadValue(depth + 1);
      if (!value) return std::nullopt;
      list.Add(*std::move(value));
      SkipSpace();
      if (Take(']')) return list;
      if (!Take(',')) return Fail("\",\" or \"]\" is expected");
    }
  }

  std::optional<std::string> ReadString() {
    std::string text;
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return text;
      }
      if (c == '\\') {
        if (!ReadEscape(text)) return std::nullopt;
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20) return Fail("a control character in a text");
      const Character character = DecodeCharacter(text_.substr(at_));
      if (character.code == kBroken) return Fail("a text that is not UTF-8");
      text += text_.substr(at_, character.bytes);
      at_ += character.bytes;
    }
    return Fail("a text without an end");
  }

  std::optional<std::uint32_t> ReadHex() {
    std::uint32_t code = 0;
    const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4)
      return Fail("four hexadecimal digits are expected");
    at_ += 4;
    return code;
  }

  bool ReadEscape(std::string& text) {
    static constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    ++at_;
    const char c = Peek();
    if (const std::size_t known = kNames.find(c); c != '\0' && known != kNames.npos) {
      ++at_;
      text += kMeanings[known];
      return true;
    }
    if (!Take('u')) return Fail("an unknown escape"), false;
    std::optional<std::uint32_t> code = ReadHex();
    if (!code) return false;
    // UTF-16's pairs stand for one character.
    if (*code >= 0xD800 && *code < 0xDC00) {
      if (!Take('\\') || !Take('u')) return Fail("half a surrogate pair"), false;
      const std::optional<std::uint32_t> low = ReadHex();
      if (!low) return false;
      if (*low < 0xDC00 || *low >= 0xE000) return Fail("half a surrogate pair"), false;
      code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
    } else if (*code >= 0xDC00 && *code < 0xE000) {
      return Fail("half a surrogate pair"), false;
    }
    PutUtf8(text, *code);
    return true;
  }

  void SkipDigits() {
    while (IsDigit(Peek())) ++at_;
  }

  std::optional<Value> ReadNumber() {
    const std::size_t begin = at_;
    const bool negative = Take('-');
    if (!IsDigit(Peek())) return Fail("a value is expected");
    if (!Take('0')) SkipDigits();
    bool whole = true;
    if (Take('.')) {
      whole = false;
      if (!IsDigit(Peek())) return Fail("a digit is expected");
      SkipDigits();
    }
    if (Take('e') || Take('E')) {
      whole = false;
      if (!Take('+')) Take('-');
      if (!IsDigit(Peek())) return Fail("a digit is expected");
      SkipDigits();
    }
    const std::string_view digits = text_.substr(begin, at_ - begin);
    const auto parse = [&](auto& number) {
      return std::from_chars(digits.data(), digits.data() + digits.size(), number).ec ==
             std::errc();
    };
    std::int64_t signed_number = 0;
    std::uint64_t number = 0;
    if (whole && negative && parse(signed_number)) return Value(signed_number);
    if (whole && !negative && parse(number)) return Value(number);
    double real = 0;
    if (!parse(real) || !std::isfinite(real)) return Fail("a number that is too large");
    // Nothing is less than nothing: written, a negative zero would be read as a whole one.
    return Value(real == 0 ? 0.0 : real);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string_view problem_;
};

}  // namespace

Result<Value> ParseJson(std::string_view text) { return Reader(text).ReadAll(); }

}  // namespace partita::base
