#include "config/toml/edit.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/text_edit.h"
#include "config/toml/scalar.h"

namespace partita::config {
namespace {

using StatementKind = TomlStatement::Kind;

bool StartsWith(const TomlPath& path, const TomlPath& prefix) {
  return path.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), path.begin());
}

std::size_t CommonParts(const TomlPath& a, const TomlPath& b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t parts = 0;
  while (parts < shorter && a[parts] == b[parts]) ++parts;
  return parts;
}

// Where a new statement goes, and what it needs around it.
struct Spot {
  std::size_t at = 0;
  std::string indent{};
  bool blank_before = false;
};

// The file as sections: what stands before the first header, then one a header.
class Sections {
 public:
  explicit Sections(const Toml& toml) : text_(toml.text()), all_(toml.statements()) {
    const std::size_t newline = text_.find('\n');
    if (newline != std::string::npos && newline > 0 && text_[newline - 1] == '\r') eol_ = "\r\n";
  }

  [[nodiscard]] const std::string& eol() const { return eol_; }

  [[nodiscard]] std::string IndentOf(const TomlStatement& statement) const {
    const std::size_t begin = statement.lines.begin;
    const std::size_t end = std::min(text_.find_first_not_of(" \t", begin), text_.size());
    return text_.substr(begin, end - begin);
  }

  [[nodiscard]] bool IsKeyOf(const TomlStatement& statement,
                             std::optional<std::size_t> header) const {
    return statement.kind == StatementKind::kKey && statement.within == header;
  }

  // Its last key; nothing where it has none.
  [[nodiscard]] const TomlStatement* LastKey(std::optional<std::size_t> header) const {
    const TomlStatement* last = nullptr;
    for (const TomlStatement& each : all_) {
      if (IsKeyOf(each, header)) last = &each;
    }
    return last;
  }

  [[nodiscard]] std::size_t End(std::size_t header) const {
    const TomlStatement* last = LastKey(header);
    return last == nullptr ? all_[header].lines.end : last->lines.end;
  }

  [[nodiscard]] std::optional<std::size_t> Header(const TomlPath& path) const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].kind == StatementKind::kTable && !all_[i].in_list && all_[i].path == path)
        return i;
    }
    return std::nullopt;
  }

  // Comments directly above a statement belong to it.
  [[nodiscard]] std::size_t AboveComments(std::size_t begin) const {
    while (begin > 0) {
      const std::size_t line = LineBefore(begin);
      const std::string_view words = base::Trim(std::string_view(text_).substr(line, begin - line));
      if (!words.starts_with('#')) break;
      begin = line;
    }
    return begin;
  }

  [[nodiscard]] bool HasBlankAbove(std::size_t begin) const {
    if (begin == 0) return false;
    const std::size_t line = LineBefore(begin);
    return base::Trim(std::string_view(text_).substr(line, begin - line)).empty();
  }

  [[nodiscard]] std::size_t AboveBlanks(std::size_t begin) const {
    while (HasBlankAbove(begin)) begin = LineBefore(begin);
    return begin;
  }

  [[nodiscard]] Spot InSection(std::optional<std::size_t> header) const {
    if (const TomlStatement* last = LastKey(header)) return {last->lines.end, IndentOf(*last)};
    if (header) return {all_[*header].lines.end, IndentOf(all_[*header]) + KeyIndent()};
    if (all_.empty()) return {text_.size()};
    return {AboveComments(all_.front().lines.begin)};
  }

  // For the header of a table that has none.
  [[nodiscard]] Spot ForHeader(const TomlPath& path) const {
    const TomlStatement* near = nullptr;
    std::size_t near_number = 0, most = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const TomlStatement& each = all_[i];
      if (!each.IsHeader()) continue;
      if (StartsWith(each.path, path)) {
        const std::size_t at = AboveComments(each.lines.begin);
        return {at, IndentOf(each), false};
      }
      const std::size_t common = CommonParts(each.path, path);
      if (common == 0 || common < most) continue;
      most = common;
      near = &each;
      near_number = i;
    }
    if (near == nullptr) return {text_.size(), "", !text_.empty()};
    return {End(near_number), HeaderIndent(path), HasBlankAbove(near->lines.begin)};
  }

  // What keys have more than their header: as in the first section that has some.
  [[nodiscard]] std::string KeyIndent() const {
    for (const TomlStatement& each : all_) {
      if (each.kind == StatementKind::kKey && each.within)
        return Deeper(IndentOf(all_[*each.within]), IndentOf(each)).value_or("");
    }
    return "  ";
  }

 private:
  [[nodiscard]] std::size_t LineBefore(std::size_t begin) const {
    return begin < 2 ? 0 : text_.find_last_of('\n', begin - 2) + 1;  // npos + 1 is 0
  }

  static std::optional<std::string> Deeper(const std::string& outer, const std::string& inner) {
    if (!inner.starts_with(outer)) return std::nullopt;
    return inner.substr(outer.size());
  }

  // What a header has more than the one of the table that it is in.
  [[nodiscard]] std::string NestIndent() const {
    for (const TomlStatement& inner : all_) {
      for (const TomlStatement& outer : all_) {
        if (!inner.IsHeader() || !outer.IsHeader()) continue;
        if (inner.path.size() == outer.path.size() + 1 && StartsWith(inner.path, outer.path))
          return Deeper(IndentOf(outer), IndentOf(inner)).value_or("");
      }
    }
    return "";
  }

  [[nodiscard]] std::string HeaderIndent(const TomlPath& path) const {
    const TomlPath parent(path.begin(), path.end() - 1);
    const TomlStatement* above = nullptr;
    for (const TomlStatement& each : all_) {
      if (!each.IsHeader()) continue;
      if (each.path.size() == path.size() && StartsWith(each.path, parent)) return IndentOf(each);
      if (StartsWith(path, each.path) &&
          (above == nullptr || each.path.size() > above->path.size()))
        above = &each;
    }
    if (above == nullptr) return "";
    std::string indent = IndentOf(*above);
    for (std::size_t i = above->path.size(); i < path.size(); ++i) indent += NestIndent();
    return indent;
  }

  const std::string& text_;
  const std::vector<TomlStatement>& all_;
  std::string eol_ = "\n";
};

base::Splice Insert(const std::string& text,
                    const Spot& spot,
                    std::string lines,
                    const std::string& eol) {
  // The last line of a file may lack its end.
  const bool open = spot.at > 0 && text[spot.at - 1] != '\n';
  const bool after_mark = spot.at == 3 && text.starts_with("\xEF\xBB\xBF");
  if (spot.blank_before) lines = eol + lines;
  if (open && !after_mark) lines = eol + lines;
  return {spot.at, 0, std::move(lines)};
}

// The statement that a path is the key of.
const TomlStatement* KeyAt(const Toml& toml, const TomlPath& path) {
  for (const TomlStatement& each : toml.statements()) {
    if (!each.IsHeader() && !each.in_list && each.path == path) return &each;
  }
  return nullptr;
}

// The innermost key on the way to the path that has a value of its own.
std::optional<std::size_t> KeyAbove(const Toml& toml, const TomlPath& path) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < toml.statements().size(); ++i) {
    const TomlStatement& each = toml.statements()[i];
    if (each.IsHeader() || each.in_list || each.path.size() >= path.size()) continue;
    if (StartsWith(path, each.path)) found = i;
  }
  return found;
}

base::Error NoTable(const TomlPath& path, const TomlPath& at) {
  return base::MakeError(base::ErrorCode::kConflict, "{} is no table, so {} cannot be set",
                         TomlDotted(at), TomlDotted(path));
}

TomlPath Rest(const TomlPath& path, std::size_t parts) {
  return {path.begin() + static_cast<std::ptrdiff_t>(parts), path.end()};
}

// Last in an inline table; `key` is its statement.
base::Result<base::Splice> IntoInline(const Toml& toml,
                                      std::size_t key,
                                      const TomlPath& path,
                                      std::string_view value) {
  const TomlStatement& table = toml.statements()[key];
  if (toml.text()[table.value.begin] != '{') return NoTable(path, table.path);
  const std::string pair = fmt::format("{} = {}", TomlDotted(Rest(path, table.path.size())), value);
  const TomlStatement* last = nullptr;
  for (const TomlStatement& each : toml.statements()) {
    if (each.kind == StatementKind::kInlineKey && each.within == key) last = &each;
  }
  if (last != nullptr) return base::Splice{last->value.end, 0, ", " + pair};
  return base::Splice{table.value.begin, table.value.end - table.value.begin,
                      fmt::format("{{ {} }}", pair)};
}

// The last of the dotted keys that make a table up, where nothing else does.
const TomlStatement* LastDotted(const Toml& toml, const TomlPath& table) {
  const TomlStatement* last = nullptr;
  for (const TomlStatement& each : toml.statements()) {
    if (each.kind != StatementKind::kKey || each.in_list || !StartsWith(each.path, table)) continue;
    if (each.path.size() > table.size() && each.path.size() - each.key_parts < table.size())
      last = &each;
  }
  return last;
}

// Whether a list lies on the way: what is below it has no one place.
bool CrossesList(const Node& root, const TomlPath& path) {
  const Node* node = &root;
  for (const std::string& part : path) {
    node = node->Find(part);
    if (node == nullptr) return false;
    if (node->IsList()) return true;
  }
  return false;
}

// The bytes of one statement's removal.
TomlSpan RemovalOf(const Toml& toml, const Sections& sections, std::size_t number) {
  const TomlStatement& statement = toml.statements()[number];
  if (statement.kind == StatementKind::kKey) return statement.lines;
  if (statement.IsHeader())
    return {sections.AboveBlanks(statement.lines.begin), sections.End(number)};
  const TomlStatement *before = nullptr, *after = nullptr;
  for (std::size_t i = 0; i < toml.statements().size(); ++i) {
    const TomlStatement& each = toml.statements()[i];
    if (each.kind != StatementKind::kInlineKey || each.within != statement.within) continue;
    if (i < number) before = &each;
    if (i > number && after == nullptr) after = &each;
  }
  if (after != nullptr) return {statement.lines.begin, after->lines.begin};
  if (before != nullptr) return {before->lines.end, statement.lines.end};
  return statement.lines;
}

}  // namespace

std::string TomlDotted(const TomlPath& path) {
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "" : ".") + TomlKey(part);
  return text;
}

std::string TomlValue(const Node& node) {
  switch (node.kind) {
    case NodeKind::kNull: return "\"\"";
    case NodeKind::kScalar: return node.quoted ? TomlQuoted(node.text) : node.text;
    case NodeKind::kList: {
      std::string text;
      for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + TomlValue(item);
      return "[" + text + "]";
    }
    case NodeKind::kMap: {
      std::string text;
      for (const Node::Entry& entry : node.entries)
        text += fmt::format("{} {} = {}", text.empty() ? "" : ",", TomlKey(entry.key.text),
                            TomlValue(entry.value));
      return text.empty() ? "{}" : "{" + text + " }";
    }
  }
  return "";
}

base::Result<TomlText> TomlText::Parse(std::string text, std::string file_name) {
  TRY(toml, Toml::Parse(std::move(text), std::move(file_name)));
  return TomlText(std::move(toml));
}

base::Result<void> TomlText::Replace(std::string text) {
  TRY(toml, Toml::Parse(std::move(text), toml_.file_name()), "after an edit");
  toml_ = std::move(toml);
  return {};
}

const Node* TomlText::Find(const TomlPath& path) const {
  const Node* node = &root();
  for (const std::string& part : path) {
    node = node->Find(part);
    if (node == nullptr) return nullptr;
  }
  return node;
}

base::Result<void> TomlText::Set(const TomlPath& path, std::string_view value) {
  PARTITA_CHECK(!path.empty());
  const TomlPath table(path.begin(), path.end() - 1);
  if (CrossesList(root(), table)) return NoTable(path, table);
  if (const TomlStatement* key = KeyAt(toml_, path)) {
    return Replace(base::Apply(
        text(), {{key->value.begin, key->value.end - key->value.begin, std::string(value)}}));
  }
  if (Find(path) != nullptr) {
    return base::MakeError(base::ErrorCode::kConflict, "{} is a table, so it cannot have a value",
                           TomlDotted(path));
  }
  if (const std::optional<std::size_t> above = KeyAbove(toml_, path)) {
    TRY(splice, IntoInline(toml_, *above, path, value));
    return Replace(base::Apply(text(), {std::move(splice)}));
  }
  const Sections sections(toml_);
  const std::optional<std::size_t> header = sections.Header(table);
  if (!header && !table.empty()) {
    if (const TomlStatement* dotted = LastDotted(toml_, table)) {
      const Spot spot = {dotted->lines.end, sections.IndentOf(*dotted)};
      const std::size_t above = dotted->path.size() - dotted->key_parts;
      return Replace(base::Apply(
          text(), {Insert(text(), spot,
                          fmt::format("{}{} = {}{}", spot.indent, TomlDotted(Rest(path, above)),
                                      value, sections.eol()),
                          sections.eol())}));
    }
    const Spot spot = sections.ForHeader(table);
    std::string lines =
        fmt::format("{}[{}]{}{}{}{} = {}{}", spot.indent, TomlDotted(table), sections.eol(),
                    spot.indent, sections.KeyIndent(), TomlKey(path.back()), value, sections.eol());
    // Before what is below the table: with the distance that its header had.
    if (spot.at < text().size() && sections.HasBlankAbove(spot.at)) lines += sections.eol();
    return Replace(base::Apply(text(), {Insert(text(), spot, std::move(lines), sections.eol())}));
  }
  const Spot spot = sections.InSection(header);
  return Replace(base::Apply(
      text(),
      {Insert(text(), spot,
              fmt::format("{}{} = {}{}", spot.indent, TomlKey(path.back()), value, sections.eol()),
              sections.eol())}));
}

base::Result<void> TomlText::Append(const TomlPath& path, std::string_view value) {
  const TomlStatement* key = KeyAt(toml_, path);
  if (key == nullptr) return Set(path, fmt::format("[{}]", value));
  if (text()[key->value.begin] != '[') {
    return base::MakeError(base::ErrorCode::kConflict, "{} is no list", TomlDotted(path));
  }
  if (key->items.empty())
    return Replace(base::Apply(text(), {{key->value.begin + 1, 0, std::string(value)}}));
  const TomlSpan last = key->items.back();
  const std::size_t line = text().find_last_of('\n', last.begin);
  if (line == std::string::npos || line < key->value.begin)
    return Replace(base::Apply(text(), {{last.end, 0, fmt::format(", {}", value)}}));
  // One item a line: a comment behind the last one stays with it.
  const std::size_t behind = std::min(text().find_first_not_of(" \t", last.end), text().size());
  const bool comma = text()[behind] == ',';
  const std::size_t end_of_line = std::min(text().find_first_of("\r\n", last.end), text().size());
  const bool closes = key->value.end <= end_of_line;  // "]" stands on the same line
  const std::string indent = text().substr(line + 1, last.begin - line - 1);
  const std::string eol = Sections(toml_).eol();
  if (closes || base::Trim(indent).size() != 0)
    return Replace(base::Apply(text(), {{last.end, 0, fmt::format(", {}", value)}}));
  return Replace(base::Apply(
      text(), {{last.end, 0, comma ? "" : ","},
               {end_of_line, 0, fmt::format("{}{}{}{}", eol, indent, value, comma ? "," : "")}}));
}

base::Result<void> TomlText::Remove(const TomlPath& path) {
  PARTITA_CHECK(!path.empty());
  if (CrossesList(root(), TomlPath(path.begin(), path.end() - 1))) return {};
  for (;;) {
    std::optional<std::size_t> number;
    for (std::size_t i = 0; i < toml_.statements().size() && !number; ++i) {
      const TomlStatement& each = toml_.statements()[i];
      const bool own = each.kind != StatementKind::kInlineKey || !each.in_list;
      if (own && StartsWith(each.path, path)) number = i;
    }
    if (!number) return {};
    const TomlSpan span = RemovalOf(toml_, Sections(toml_), *number);
    TRY_VOID(Replace(base::Apply(text(), {{span.begin, span.end - span.begin, ""}})));
  }
}

std::string TomlText::TextOf(const TomlPath& table) const {
  const Sections sections(toml_);
  const Node* node = Find(table);
  if (node == nullptr) return "";
  if (const std::optional<std::size_t> above = KeyAbove(toml_, table))
    return fmt::format("{} = {}{}", TomlDotted(table), TomlValue(*node), sections.eol());
  std::string text_of, outer;
  std::optional<std::size_t> outer_header;
  for (std::size_t i = 0; i < toml_.statements().size(); ++i) {
    const TomlStatement& each = toml_.statements()[i];
    if (!StartsWith(each.path, table)) continue;
    if (each.IsHeader()) {
      const std::size_t begin = sections.AboveComments(each.lines.begin);
      const std::size_t from = sections.HasBlankAbove(begin) ? sections.AboveBlanks(begin) : begin;
      text_of += text().substr(from, sections.End(i) - from);
      if (!text_of.ends_with('\n')) text_of += sections.eol();
      continue;
    }
    const bool in_copied = each.within && StartsWith(toml_.statements()[*each.within].path, table);
    if (each.kind != StatementKind::kKey || in_copied) continue;
    // A key that names the table from outside: below the header that it stands in, once.
    if (each.within && each.within != outer_header)
      outer +=
          fmt::format("[{}]{}", TomlDotted(toml_.statements()[*each.within].path), sections.eol());
    outer_header = each.within;
    outer += text().substr(each.lines.begin, each.lines.end - each.lines.begin);
    if (!outer.ends_with('\n')) outer += sections.eol();
  }
  return outer + text_of;
}

}  // namespace partita::config
