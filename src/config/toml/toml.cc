#include "config/toml/toml.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"
#include "config/problems.h"
#include "config/toml/scalar.h"

namespace partita::config {
namespace {

// How a map or list came to be, which decides what may still be added to it.
enum class Form : std::uint8_t {
  kClosed,     // a scalar, an inline table, a list of values: complete
  kImplied,    // by a longer header; its own may still come
  kHeader,     // by its own header
  kDotted,     // by dotted keys; no header may name it
  kTableList,  // by [[…]]
};

struct Draft {
  Node node;  // without items and entries
  Form form = Form::kClosed;
  std::map<std::string, std::size_t, std::less<>> index{};  // of a map, into `below`
  std::vector<Node> keys{};
  std::vector<std::unique_ptr<Draft>> below{};

  [[nodiscard]] Draft* Find(std::string_view key) const {
    const auto found = index.find(key);
    return found == index.end() ? nullptr : below[found->second].get();
  }
};

Node Finish(Draft& draft) {
  Node node = std::move(draft.node);
  for (std::size_t i = 0; i < draft.below.size(); ++i) {
    if (node.IsMap()) {
      node.entries.push_back({std::move(draft.keys[i]), Finish(*draft.below[i])});
    } else {
      node.items.push_back(Finish(*draft.below[i]));
    }
  }
  return node;
}

struct TomlFault {
  Node place;
  std::string message, hint;
};

// Lines and columns of places that are asked for in the order of the text.
class Lines {
 public:
  Lines(std::string_view text, std::size_t begin) : text_(text), at_(begin) {}

  [[nodiscard]] Node Place(TomlSpan span) {
    Node node;
    if (span.begin < at_) *this = Lines(text_, 0);
    std::string_view between = text_.substr(at_, span.begin - at_);
    for (std::size_t end; (end = between.find('\n')) != std::string_view::npos;) {
      between.remove_prefix(end + 1);
      ++line_;
      column_ = 1;
    }
    column_ += static_cast<int>(base::CountCharacters(between));
    at_ = span.begin;
    node.line = line_;
    node.column = column_;
    const std::string_view whole = text_.substr(span.begin, span.end - span.begin);
    const bool one_line = whole.find('\n') == std::string_view::npos;
    node.length = one_line ? std::max(1, static_cast<int>(base::CountCharacters(whole))) : 1;
    return node;
  }

 private:
  std::string_view text_;
  std::size_t at_;
  int line_ = 1;
  int column_ = 1;
};

struct Key {
  std::vector<std::string> parts;
  std::vector<Node> nodes;
  TomlSpan span;
};

// Every function returns false once `fault_` is set.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), at_(SkipMark(text)), lines_(text, at_) {
    root_.node.kind = NodeKind::kMap;
    root_.form = Form::kHeader;
  }

  std::optional<TomlFault> Read() {
    if (CheckCharacters() && ReadStatements()) return std::nullopt;
    return std::move(fault_);
  }
  Node TakeRoot() { return Finish(root_); }
  std::vector<TomlStatement> TakeStatements() { return std::move(statements_); }

 private:
  static std::size_t SkipMark(std::string_view text) {
    return text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  }

  bool Fail(TomlSpan span, std::string message, std::string hint = "") {
    fault_ = TomlFault{lines_.Place(span), std::move(message), std::move(hint)};
    return false;
  }
  bool FailHere(std::string message, std::string hint = "") {
    return Fail({at_, at_}, std::move(message), std::move(hint));
  }

  [[nodiscard]] char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }
  bool TakeNewline() {
    if (text_.substr(at_).starts_with("\r\n")) return at_ += 2, true;
    return Take('\n');
  }
  void SkipComment() {
    if (Peek() == '#') at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
  }
  // Blanks, comments and line ends, as inside of lists.
  void SkipAll() {
    do {
      SkipBlanks();
      SkipComment();
    } while (TakeNewline());
  }

  // Texts, comments and what is between them have the same rule, so one look at all does.
  bool CheckCharacters() {
    for (std::size_t at = at_; at < text_.size();) {
      const base::Character next = base::DecodeCharacter(text_.substr(at));
      const bool line_end = next.code == '\n' || text_.substr(at).starts_with("\r\n");
      if (next.code == base::kBroken)
        return Fail({at, at + 1}, "not text: a byte that is no UTF-8");
      if ((next.code < 0x20 && next.code != '\t' && !line_end) || next.code == 0x7F)
        return Fail({at, at + 1}, fmt::format("a control character (0x{:02x})",
                                              static_cast<unsigned>(next.code)));
      at += next.bytes;
    }
    return true;
  }

  bool ReadStatements() {
    table_ = &root_;
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      SkipBlanks();
      if (Peek() != '#' && Peek() != '\r' && Peek() != '\n' && at_ < text_.size()) {
        const std::size_t number = statements_.size();
        statements_.push_back({.within = header_});
        if (Peek() == '[' ? !ReadHeader(number) : !ReadPair(number)) return false;
        SkipBlanks();
        SkipComment();
        if (at_ < text_.size() && !TakeNewline())
          return FailHere("something stands behind the value", "one statement a line");
        statements_[number].lines = {begin, at_};
        continue;
      }
      SkipComment();
      TakeNewline();
    }
    return true;
  }

  bool ReadHeader(std::size_t number) {
    ++at_;
    const bool list = Take('[');
    Key key;
    SkipBlanks();
    if (!ReadKey(key)) return false;
    SkipBlanks();
    if (!Take(']') || (list && !Take(']')))
      return FailHere(list ? "\"]]\" is expected" : "\"]\" is expected");
    if (!CheckDepth(key.parts.size(), key.span)) return false;
    TomlStatement& statement = statements_[number];
    statement.kind = list ? TomlStatement::Kind::kTableList : TomlStatement::Kind::kTable;
    statement.path = key.parts;
    statement.key_parts = key.parts.size();
    statement.key = key.span;
    statement.value = {at_, at_};
    statement.within.reset();
    if (!OpenTable(key, list)) return false;
    statement.in_list = in_list_;
    header_ = number;
    header_path_ = std::move(key.parts);
    return true;
  }

  // Makes the tables on the way; `table_` is the one that the header names.
  bool OpenTable(const Key& key, bool list) {
    Draft* table = &root_;
    in_list_ = list;
    for (std::size_t i = 0; i + 1 < key.parts.size(); ++i) {
      Draft* next = table->Find(key.parts[i]);
      if (next == nullptr) next = AddMap(*table, key, i, Form::kImplied);
      if (next == nullptr) return false;
      if (next->form == Form::kTableList) {
        in_list_ = true;
        next = next->below.back().get();
      } else if (next->form == Form::kClosed) {
        return FailTwice(key, i, *next);
      }
      table = next;
    }
    const std::size_t last = key.parts.size() - 1;
    Draft* there = table->Find(key.parts[last]);
    if (list) return OpenListItem(*table, there, key);
    if (there == nullptr) {
      there = AddMap(*table, key, last, Form::kHeader);
      if (there == nullptr) return false;
    } else if (there->form != Form::kImplied) {
      return FailTwice(key, last, *there);
    }
    there->form = Form::kHeader;
    table_ = there;
    return true;
  }

  bool OpenListItem(Draft& table, Draft* there, const Key& key) {
    const std::size_t last = key.parts.size() - 1;
    if (there == nullptr) {
      there = AddMap(table, key, last, Form::kTableList);
      if (there == nullptr) return false;
      there->node.kind = NodeKind::kList;
    } else if (there->form != Form::kTableList) {
      return FailTwice(key, last, *there);
    }
    if (!Count(key.span)) return false;
    auto item = std::make_unique<Draft>();
    item->node = TablePlace(key.nodes[last]);
    item->form = Form::kHeader;
    there->below.push_back(std::move(item));
    table_ = there->below.back().get();
    return true;
  }

  bool FailTwice(const Key& key, std::size_t part, const Draft& there) {
    fault_ = TomlFault{key.nodes[part],
                       fmt::format("{} is there already", base::Quoted(key.parts[part])),
                       fmt::format("it is in line {}", there.node.line)};
    return false;
  }

  bool Count(TomlSpan span) {
    if (++nodes_ <= Document::kMaxNodes) return true;
    return Fail(span, fmt::format("more than {} values", Document::kMaxNodes));
  }
  bool CheckDepth(std::size_t depth, TomlSpan span) {
    if (depth < static_cast<std::size_t>(Document::kMaxDepth)) return true;
    return Fail(span, fmt::format("nested deeper than {} levels", Document::kMaxDepth));
  }

  Draft* Add(Draft& map, const Key& key, std::size_t part, Draft draft) {
    if (!Count(key.span)) return nullptr;
    map.index.emplace(key.parts[part], map.below.size());
    map.keys.push_back(key.nodes[part]);
    map.below.push_back(std::make_unique<Draft>(std::move(draft)));
    return map.below.back().get();
  }

  static Node TablePlace(Node key) {
    key.text.clear();
    key.quoted = false;
    key.kind = NodeKind::kMap;
    return key;
  }

  Draft* AddMap(Draft& map, const Key& key, std::size_t part, Form form) {
    Draft draft;
    draft.node = TablePlace(key.nodes[part]);
    draft.form = form;
    return Add(map, key, part, std::move(draft));
  }

  bool ReadPair(std::size_t number) {
    TomlStatement& statement = statements_[number];
    statement.path = header_path_;
    statement.in_list = in_list_;
    return ReadAssignment(*table_, number, header_path_.size());
  }

  // key = value, in a table of either kind. The statement has the table's path.
  bool ReadAssignment(Draft& table, std::size_t number, std::size_t depth) {
    Key key;
    if (!ReadKey(key)) return false;
    if (!CheckDepth(depth + key.parts.size(), key.span)) return false;
    SkipBlanks();
    if (!Take('=')) return FailHere("\"=\" is expected");
    SkipBlanks();
    Draft* map = &table;
    for (std::size_t i = 0; i + 1 < key.parts.size(); ++i) {
      Draft* next = map->Find(key.parts[i]);
      if (next == nullptr) next = AddMap(*map, key, i, Form::kDotted);
      if (next == nullptr) return false;
      if (next->form != Form::kDotted) return FailTwice(key, i, *next);
      map = next;
    }
    const std::size_t last = key.parts.size() - 1;
    if (const Draft* there = map->Find(key.parts[last])) return FailTwice(key, last, *there);
    TomlStatement& statement = statements_[number];
    statement.path.insert(statement.path.end(), key.parts.begin(), key.parts.end());
    statement.key_parts = key.parts.size();
    statement.key = key.span;
    const std::size_t begin = at_;
    Draft value;
    if (!ReadValue(value, number, depth + key.parts.size())) return false;
    statements_[number].value = {begin, at_};
    return Add(*map, key, last, std::move(value)) != nullptr;
  }

  bool ReadKey(Key& key) {
    key.span.begin = at_;
    for (;;) {
      const std::size_t begin = at_;
      std::string part;
      if (Peek() == '"' || Peek() == '\'') {
        if (!ReadString(part, true)) return false;
      } else {
        while (at_ < text_.size() && IsBareTomlKey(text_.substr(at_, 1))) ++at_;
        part = text_.substr(begin, at_ - begin);
        if (part.empty()) return FailHere("a key is expected");
      }
      key.span.end = at_;
      Node node = lines_.Place({begin, at_});
      node.kind = NodeKind::kScalar;
      node.text = part;
      node.quoted = text_[begin] == '"' || text_[begin] == '\'';
      key.parts.push_back(std::move(part));
      key.nodes.push_back(std::move(node));
      SkipBlanks();
      if (!Take('.')) return true;
      SkipBlanks();
    }
  }

  bool ReadString(std::string& out, bool one_line) {
    TomlStringFault fault;
    std::optional<TomlString> text = ReadTomlString(text_.substr(at_), one_line, fault);
    if (!text)
      return Fail({at_ + fault.at, at_ + fault.at}, std::move(fault.message),
                  std::move(fault.hint));
    out = std::move(text->text);
    at_ += text->length;
    return true;
  }

  // `number` is the statement that the value belongs to.
  bool ReadValue(Draft& value, std::size_t number, std::size_t depth) {
    const std::size_t begin = at_;
    if (!CheckDepth(depth, {begin, begin}) || !Count({begin, begin})) return false;
    if (Peek() == '[') return ReadList(value, number, depth);
    if (Peek() == '{') return ReadInlineTable(value, number, depth);
    std::string text;
    const bool quoted = Peek() == '"' || Peek() == '\'';
    if (quoted) {
      if (!ReadString(text, false)) return false;
    } else if (!ReadWord(text)) {
      return false;
    }
    value.node = lines_.Place({begin, at_});
    value.node.kind = NodeKind::kScalar;
    value.node.text = std::move(text);
    value.node.quoted = quoted;
    return true;
  }

  bool ReadWord(std::string& text) {
    const std::string_view word = text_.substr(at_, TomlWordLength(text_.substr(at_)));
    std::optional<std::string> read = ReadTomlWord(word);
    if (!read) {
      return Fail({at_, at_ + word.size()},
                  word.empty() ? "a value is expected"
                               : fmt::format("{} is no value of TOML", base::Quoted(word)),
                  word.empty() ? "" : "text stands in quotes");
    }
    text = *std::move(read);
    at_ += word.size();
    return true;
  }

  bool ReadList(Draft& value, std::size_t number, std::size_t depth) {
    const bool direct = !inside_;
    value.node = lines_.Place({at_, at_ + 1});
    value.node.kind = NodeKind::kList;
    ++at_;
    const bool was_inside = std::exchange(inside_, true);
    const bool was_in_list = std::exchange(in_list_value_, true);
    for (;;) {
      SkipAll();
      if (Take(']')) break;
      const std::size_t begin = at_;
      auto item = std::make_unique<Draft>();
      if (!ReadValue(*item, number, depth + 1)) return false;
      value.below.push_back(std::move(item));
      if (direct) statements_[number].items.push_back({begin, at_});
      SkipAll();
      if (Take(']')) break;
      if (!Take(',')) return FailHere("\",\" or \"]\" is expected");
    }
    inside_ = was_inside;
    in_list_value_ = was_in_list;
    return true;
  }

  bool ReadInlineTable(Draft& value, std::size_t number, std::size_t depth) {
    value.node = lines_.Place({at_, at_ + 1});
    value.node.kind = NodeKind::kMap;
    value.form = Form::kHeader;  // until its end
    ++at_;
    const bool was_inside = std::exchange(inside_, false);
    SkipBlanks();
    for (bool more = !Take('}'); more;) {
      const std::size_t inner = statements_.size();
      statements_.push_back({.kind = TomlStatement::Kind::kInlineKey,
                             .path = statements_[number].path,
                             .within = number,
                             .in_list = statements_[number].in_list || in_list_value_});
      const std::size_t begin = at_;
      if (!ReadAssignment(value, inner, depth)) return false;
      statements_[inner].lines = {begin, statements_[inner].value.end};
      SkipBlanks();
      if (Take('}')) break;
      if (!Take(',')) return FailHere("\",\" or \"}\" is expected", "an inline table has one line");
      SkipBlanks();
    }
    inside_ = was_inside;
    Close(value);
    return true;
  }

  static void Close(Draft& draft) {
    draft.form = Form::kClosed;
    for (const std::unique_ptr<Draft>& each : draft.below) Close(*each);
  }

  std::string_view text_;
  std::size_t at_;
  Lines lines_;
  Draft root_;
  Draft* table_ = nullptr;
  std::vector<std::string> header_path_;
  std::optional<std::size_t> header_;
  bool in_list_ = false;        // the table is below [[…]]
  bool in_list_value_ = false;  // the value is in a list
  bool inside_ = false;         // a list in a list is no value of the statement itself
  std::size_t nodes_ = 0;
  std::vector<TomlStatement> statements_;
  std::optional<TomlFault> fault_;
};

}  // namespace

base::Result<Toml> Toml::Parse(std::string text, std::string file_name) {
  if (text.size() > Document::kMaxBytes) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "{}: {} bytes are too many: the limit is {} MiB", file_name, text.size(),
                           Document::kMaxBytes / 1024 / 1024);
  }
  Reader reader(text);
  if (std::optional<TomlFault> fault = reader.Read()) {
    Problems problems(text, file_name);
    problems.Add(fault->place, std::move(fault->message), std::move(fault->hint));
    return problems.ToResult().error();
  }
  Node root = reader.TakeRoot();
  std::vector<TomlStatement> statements = reader.TakeStatements();
  return Toml(std::move(text), std::move(file_name), std::move(root), std::move(statements));
}

}  // namespace partita::config
