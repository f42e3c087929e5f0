// Values as JSON and YAML.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"
#include "base/value.h"

namespace partita::base {
namespace {

// Control characters, those that YAML or JavaScript take for the end of a line, and what YAML does
// not allow in a text.
bool NeedsEscape(char32_t character) {
  return character < 0x20 || (character >= 0x7F && character <= 0x9F) || character == 0x2028 ||
         character == 0x2029 || character == 0xFEFF || character == 0xFFFE || character == 0xFFFF;
}

std::string Escape(char32_t character) {
  switch (character) {
    case U'\b': return "\\b";
    case U'\f': return "\\f";
    case U'\n': return "\\n";
    case U'\r': return "\\r";
    case U'\t': return "\\t";
    default: return fmt::format("\\u{:04x}", static_cast<std::uint32_t>(character));
  }
}

// Stands in JSON as it is. Nearly all texts are of nothing else, and many are written.
bool IsPlainInJson(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  for (;;) {
    const auto plain = static_cast<std::size_t>(
        std::find_if_not(text.begin(), text.end(), IsPlainInJson) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character next = DecodeCharacter(text);
    if (next.code == kBroken) {
      out += "\xEF\xBF\xBD";
    } else if (next.code == U'"' || next.code == U'\\') {
      out += '\\';
      out += static_cast<char>(next.code);
    } else if (NeedsEscape(next.code)) {
      out += Escape(next.code);
    } else {
      out += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  out += '"';
}

std::string Number(double value) {
  if (!std::isfinite(value)) return "null";
  return fmt::format("{}", value);
}

// A scalar as both formats write it, but for strings.
std::string PlainScalar(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull: return "null";
    case Value::Kind::kBool: return value.AsBool() ? "true" : "false";
    case Value::Kind::kInteger: return fmt::format("{}", value.AsInteger());
    case Value::Kind::kUnsigned: return fmt::format("{}", value.AsUnsigned());
    case Value::Kind::kDouble: return Number(value.AsDouble());
    case Value::Kind::kString: return value.AsString();
    case Value::Kind::kList: return "[]";
    case Value::Kind::kMap: return "{}";
  }
  return "null";
}

bool IsEmptyContainer(const Value& value) {
  return (value.kind() == Value::Kind::kList && value.items().empty()) ||
         (value.kind() == Value::Kind::kMap && value.members().empty());
}

bool IsContainer(const Value& value) {
  return value.kind() == Value::Kind::kList || value.kind() == Value::Kind::kMap;
}

// Writes JSON; with `indented` false everything stays on one line.
class JsonWriter {
 public:
  explicit JsonWriter(bool indented) : indented_(indented) {}

  std::string Write(const Value& value) {
    Append(value, 0);
    return std::move(out_);
  }

 private:
  void Append(const Value& value, std::size_t level) {
    if (value.kind() == Value::Kind::kString) {
      AppendJsonString(out_, value.AsString());
    } else if (!IsContainer(value) || IsEmptyContainer(value)) {
      out_ += PlainScalar(value);
    } else if (value.kind() == Value::Kind::kList) {
      AppendList(value, level);
    } else {
      AppendMap(value, level);
    }
  }

  void AppendList(const Value& value, std::size_t level) {
    out_ += '[';
    bool first = true;
    for (const Value& item : value.items()) {
      Separate(first, level + 1);
      Append(item, level + 1);
    }
    Close(']', level);
  }

  void AppendMap(const Value& value, std::size_t level) {
    out_ += '{';
    bool first = true;
    for (const Value::Member& member : value.members()) {
      Separate(first, level + 1);
      AppendJsonString(out_, member.key);
      out_ += indented_ ? ": " : ":";
      Append(member.value, level + 1);
    }
    Close('}', level);
  }

  void Separate(bool& first, std::size_t level) {
    if (!first) out_ += ',';
    first = false;
    if (indented_) out_ += '\n' + std::string(2 * level, ' ');
  }

  void Close(char bracket, std::size_t level) {
    if (indented_) out_ += '\n' + std::string(2 * level, ' ');
    out_ += bracket;
  }

  bool indented_;
  std::string out_;
};

bool AllOf(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

// Whether some YAML reader takes the text for a number or a date. Readers of YAML 1.1 know more
// forms than 1.2: underscores, 0b, base 60 ("0000:07:00.0" is one), dates.
bool LooksNumeric(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  const std::string lower = ToLower(text);
  if (lower == ".inf" || lower == ".nan" || lower == "inf" || lower == "nan") return true;
  if (lower.empty() || !(IsDigit(lower[0]) || lower[0] == '.')) return false;
  if (lower.starts_with("0x")) return AllOf(lower.substr(2), "0123456789abcdef_");
  if (lower.starts_with("0o") || lower.starts_with("0b")) {
    return AllOf(lower.substr(2), "0123456789_");
  }
  const bool date = lower.size() >= 8 && AllOf(lower.substr(0, 4), "0123456789") && lower[4] == '-';
  if (date) return true;
  const std::size_t dots = static_cast<std::size_t>(std::count(lower.begin(), lower.end(), '.'));
  if (AllOf(lower, "0123456789_:.")) return dots <= 1;
  const std::size_t exponent = lower.find('e');
  return exponent != std::string::npos && dots <= 1 &&
         AllOf(std::string_view(lower).substr(0, exponent), "0123456789_.") &&
         AllOf(std::string_view(lower).substr(exponent + 1), "0123456789+-");
}

constexpr std::array<std::string_view, 12> kReservedWords = {
    "null", "~", "true", "false", "yes", "no", "on", "off", "y", "n", "<<", "="};

bool IsReservedWord(std::string_view text) {
  const std::string lower = ToLower(text);
  return std::find(kReservedWords.begin(), kReservedWords.end(), lower) != kReservedWords.end();
}

// Whether the text read back as a plain scalar is the same string.
bool IsPlainInYaml(std::string_view text) {
  if (text.empty() || Trim(text).size() != text.size()) return false;
  if (text == "-" || text == "---" || text == "..." || text == "?") return false;
  const bool opens_entry = text.size() > 1 && (text[0] == '-' || text[0] == '?') && text[1] == ' ';
  if (opens_entry || std::string_view(":,[]{}#&*!|>'\"%@`").find(text[0]) != std::string_view::npos)
    return false;
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos ||
      text.ends_with(':') || text.starts_with("--- "))
    return false;
  for (std::string_view rest = text; !rest.empty();) {
    const Character next = DecodeCharacter(rest);
    if (next.code == kBroken || NeedsEscape(next.code)) return false;
    rest.remove_prefix(next.bytes);
  }
  return !IsReservedWord(text) && !LooksNumeric(text);
}

std::string YamlString(std::string_view text) {
  return IsPlainInYaml(text) ? std::string(text) : JsonString(text);
}

// Block style. `in_line` says that the first line continues one that has begun ("- "). What stands
// in an item begins two columns after its dash; what stands below a key, at the next multiple of
// `step`.
class YamlWriter {
 public:
  explicit YamlWriter(std::size_t step) : step_(step) {}

  std::string Write(const Value& value) {
    if (IsContainer(value) && !IsEmptyContainer(value)) {
      Block(value, 0, false);
    } else {
      out_ += Scalar(value) + '\n';
    }
    return std::move(out_);
  }

 private:
  static std::string Scalar(const Value& value) {
    return value.kind() == Value::Kind::kString ? YamlString(value.AsString()) : PlainScalar(value);
  }

  void Block(const Value& value, std::size_t column, bool in_line) {
    if (value.kind() == Value::Kind::kList) {
      for (const Value& item : value.items()) {
        Indent(column, in_line);
        out_ += "-";
        Entry(item, column + 2, true);
      }
      return;
    }
    for (const Value::Member& member : value.members()) {
      Indent(column, in_line);
      const std::string key = YamlString(member.key);
      // Only a key of at most 1024 characters may stand directly before its colon.
      out_ += key.size() <= 1000 ? key : "? " + key + '\n' + std::string(column, ' ');
      out_ += ':';
      Entry(member.value, step_ * (column / step_ + 1), false);
    }
  }

  // What follows "-" or "key:".
  void Entry(const Value& value, std::size_t column, bool after_dash) {
    if (!IsContainer(value) || IsEmptyContainer(value)) {
      out_ += ' ' + Scalar(value) + '\n';
      return;
    }
    out_ += after_dash ? ' ' : '\n';
    Block(value, column, after_dash);
  }

  void Indent(std::size_t column, bool& in_line) {
    if (!in_line) out_ += std::string(column, ' ');
    in_line = false;
  }

  std::size_t step_;
  std::string out_;
};

}  // namespace

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

std::string ToJson(const Value& value) { return JsonWriter(true).Write(value) + '\n'; }

std::string ToJsonLine(const Value& value) { return JsonWriter(false).Write(value); }

std::string ToYaml(const Value& value) { return YamlWriter(2).Write(value); }

std::string ToGoYaml(const Value& value) { return YamlWriter(4).Write(value); }

}  // namespace partita::base
