#include "config/json_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "base/text_edit.h"

namespace partita::config {
namespace {

using Path = std::span<const std::string_view>;

constexpr std::string_view kSpace = " \t\n\r";

// A member of a map or an item of a list; for items `key` is empty.
struct Member {
  JsonSpan key, value;
};

// Walks text that ParseJson has accepted, so that every step may rely on its form.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t SkipSpace(std::size_t at) const {
    return std::min(text_.find_first_not_of(kSpace, at), text_.size());
  }

  [[nodiscard]] std::size_t EndOfString(std::size_t at) const {
    for (++at; text_[at] != '"'; ++at) {
      if (text_[at] == '\\') ++at;
    }
    return at + 1;
  }

  [[nodiscard]] std::size_t EndOfValue(std::size_t at) const {
    if (text_[at] == '"') return EndOfString(at);
    if (text_[at] != '{' && text_[at] != '[')
      return std::min(text_.find_first_of(",]} \t\n\r", at), text_.size());
    int depth = 0;
    do {
      const char c = text_[at];
      if (c == '"') {
        at = EndOfString(at);
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at;
    } while (depth > 0);
    return at;
  }

  // Of the map or list that begins at `at`.
  [[nodiscard]] std::vector<Member> Members(std::size_t at) const {
    std::vector<Member> members;
    const bool is_map = text_[at] == '{';
    for (at = SkipSpace(at + 1); text_[at] != '}' && text_[at] != ']';) {
      Member member;
      if (is_map) {
        member.key = {at, EndOfString(at)};
        at = SkipSpace(SkipSpace(member.key.end) + 1);  // behind ":"
      }
      member.value = {at, EndOfValue(at)};
      members.push_back(member);
      at = SkipSpace(member.value.end);
      if (text_[at] == ',') at = SkipSpace(at + 1);
    }
    return members;
  }

  [[nodiscard]] std::string_view At(JsonSpan span) const {
    return text_.substr(span.begin, span.end - span.begin);
  }

  [[nodiscard]] bool IsNamed(const Member& member, std::string_view name) const {
    const std::string_view key = At(member.key);
    if (key.find('\\') == std::string_view::npos) return key.substr(1, key.size() - 2) == name;
    const base::Result<base::Value> decoded = base::ParseJson(key);
    return decoded.ok() && decoded->AsString() == name;
  }

  // The position of a member in its map or list.
  [[nodiscard]] std::optional<std::size_t> Position(const std::vector<Member>& members,
                                                    JsonSpan in,
                                                    std::string_view name) const {
    if (text_[in.begin] == '{') {
      const auto found = std::find_if(members.begin(), members.end(),
                                      [&](const Member& each) { return IsNamed(each, name); });
      if (found == members.end()) return std::nullopt;
      return static_cast<std::size_t>(found - members.begin());
    }
    const std::optional<std::uint64_t> number = base::ParseUnsigned(name);
    if (!number || *number >= members.size()) return std::nullopt;
    return static_cast<std::size_t>(*number);
  }

  [[nodiscard]] JsonSpan Root() const {
    const std::size_t begin = SkipSpace(0);
    return {begin, EndOfValue(begin)};
  }

  [[nodiscard]] bool IsContainer(JsonSpan span) const {
    return text_[span.begin] == '{' || text_[span.begin] == '[';
  }

 private:
  std::string_view text_;
};

// How far a path exists.
struct Place {
  std::vector<JsonSpan> containers;  // from the root to what holds the last part that is there
  std::vector<Member> around;        // members of the last container
  std::optional<std::size_t> found;  // of `around`; absent: the path ends before its last part
  std::size_t depth = 0;             // parts of the path that are there
};

Place Locate(const Walker& walker, Path path) {
  Place place;
  JsonSpan span = walker.Root();
  for (const std::string_view part : path) {
    place.found.reset();
    if (!walker.IsContainer(span)) return place;
    place.containers.push_back(span);
    place.around = walker.Members(span.begin);
    place.found = walker.Position(place.around, span, part);
    if (!place.found) return place;
    ++place.depth;
    span = place.around[*place.found].value;
  }
  return place;
}

// How members of a map stand in the text.
struct Layout {
  std::string before_member;  // "\n    ", or " " where all is on one line
  std::string before_end;     // what precedes the closing bracket of an empty one that is filled
  std::string unit;           // what a level adds; empty: all on one line
};

std::string Join(Path path) {
  std::string text;
  for (const std::string_view part : path)
    text += fmt::format("{}{}", text.empty() ? "" : ".", part);
  return text;
}

// As a member's value: ToJson's two spaces a level become the layout's.
std::string Render(const base::Value& value, const Layout& layout) {
  if (layout.unit.empty()) return base::ToJsonLine(value);
  const std::string text = base::ToJson(value);
  std::string out;
  for (const std::string_view line : base::SplitLines(text)) {
    const std::size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    if (!out.empty()) out += layout.before_member;
    for (std::size_t level = 0; level < spaces / 2; ++level) out += layout.unit;
    out += line.substr(spaces);
  }
  return out;
}

class LayoutReader {
 public:
  LayoutReader(std::string_view text, const Walker& walker, int indent)
      : text_(text), walker_(walker), indent_(indent) {}

  // Of the members of the last container; the ones above it tell where it has none itself.
  [[nodiscard]] Layout Of(const std::vector<JsonSpan>& containers) const {
    for (std::size_t level = containers.size(); level-- > 0;) {
      const JsonSpan span = containers[level];
      const std::vector<Member> members = walker_.Members(span.begin);
      if (members.empty()) continue;
      Layout layout = FromMembers(span, members);
      for (std::size_t below = level + 1; below < containers.size(); ++below)
        layout = Deeper(layout);
      return layout;
    }
    const std::string unit(static_cast<std::size_t>(indent_), ' ');
    Layout layout = {indent_ > 0 ? "\n" + unit : "", indent_ > 0 ? "\n" : "", unit};
    for (std::size_t below = 1; below < containers.size(); ++below) layout = Deeper(layout);
    return layout;
  }

 private:
  static Layout Deeper(const Layout& layout) {
    if (layout.unit.empty()) return layout;
    return {layout.before_member + layout.unit, layout.before_member, layout.unit};
  }

  static std::size_t Start(const Member& member) {
    return member.key.end != 0 ? member.key.begin : member.value.begin;
  }

  [[nodiscard]] std::string Between(std::size_t begin, std::size_t end) const {
    return std::string(text_.substr(begin, end - begin));
  }

  [[nodiscard]] Layout FromMembers(JsonSpan span, const std::vector<Member>& members) const {
    const std::string before = Between(span.begin + 1, Start(members.front()));
    const std::size_t newline = before.find_last_of('\n');
    if (newline == std::string::npos) {
      if (members.size() == 1) return {" ", "", ""};
      const std::size_t comma = walker_.SkipSpace(members[0].value.end);
      return {Between(comma + 1, Start(members[1])), "", ""};
    }
    const bool returns = newline > 0 && before[newline - 1] == '\r';
    const std::string own = before.substr(newline + 1);
    const std::string end = Between(members.back().value.end, span.end - 1);
    const std::size_t end_newline = end.find_last_of('\n');
    const std::string outer = end_newline == std::string::npos ? "" : end.substr(end_newline + 1);
    const bool nests = own.size() > outer.size() && own.starts_with(outer);
    return {before.substr(returns ? newline - 1 : newline), "",
            nests ? own.substr(outer.size())
                  : std::string(static_cast<std::size_t>(std::max(indent_, 1)), ' ')};
  }

  std::string_view text_;
  const Walker& walker_;
  int indent_;
};

// {"b": {"c": value}} for the parts behind the first that is missing.
base::Value Nested(Path missing, const base::Value& value) {
  base::Value nested = value;
  for (std::size_t i = missing.size(); i-- > 0;) {
    base::Value map = base::Value::Map();
    map.Set(std::string(missing[i]), std::move(nested));
    nested = std::move(map);
  }
  return nested;
}

}  // namespace

base::Result<JsonText> JsonText::Parse(std::string text) {
  TRY(value, base::ParseJson(text));
  return JsonText(std::move(text), std::move(value));
}

std::optional<JsonSpan> JsonText::Find(Path path) const {
  const Walker walker(text_);
  if (path.empty()) return walker.Root();
  const Place place = Locate(walker, path);
  if (place.depth != path.size()) return std::nullopt;
  return place.around[*place.found].value;
}

std::vector<JsonSpan> JsonText::Items(Path path) const {
  const std::optional<JsonSpan> span = Find(path);
  std::vector<JsonSpan> items;
  if (!span || text_[span->begin] != '[') return items;
  for (const Member& member : Walker(text_).Members(span->begin)) items.push_back(member.value);
  return items;
}

base::Result<void> JsonText::Replace(std::string text) {
  TRY(value, base::ParseJson(text), "after an edit");
  text_ = std::move(text);
  value_ = std::move(value);
  return {};
}

base::Result<void> JsonText::Set(Path path, const base::Value& value, int indent) {
  const Walker walker(text_);
  const Place place = Locate(walker, path);
  const Layout layout = LayoutReader(text_, walker, indent).Of(place.containers);
  if (place.depth == path.size()) {
    const std::string json =
        path.empty() && indent > 0 ? base::ToJson(value) : Render(value, layout);
    return SetRaw(path, path.empty() ? base::Trim(json) : std::string_view(json));
  }
  const bool in_map =
      place.containers.size() == place.depth + 1 && text_[place.containers.back().begin] == '{';
  if (!in_map) {
    return base::MakeError(base::ErrorCode::kConflict, "{} is no map, so {} cannot be set in it",
                           place.depth == 0 ? "the document" : Join(path.first(place.depth)),
                           Join(path));
  }
  const base::Value nested = Nested(path.subspan(place.depth + 1), value);
  const std::string member =
      fmt::format("{}: {}", base::JsonString(path[place.depth]), Render(nested, layout));
  const JsonSpan map = place.containers.back();
  if (place.around.empty()) {
    const std::string body =
        layout.unit.empty() ? member : layout.before_member + member + layout.before_end;
    return Replace(base::Apply(text_, {{map.begin + 1, map.end - map.begin - 2, body}}));
  }
  return Replace(base::Apply(
      text_, {{place.around.back().value.end, 0, "," + layout.before_member + member}}));
}

base::Result<void> JsonText::SetRaw(Path path, std::string_view json) {
  if (const std::optional<JsonSpan> span = Find(path)) {
    return Replace(base::Apply(text_, {{span->begin, span->end - span->begin, std::string(json)}}));
  }
  // A place is made first, and filled after: its neighbours decide how it is laid out.
  JsonText made = *this;
  TRY_VOID(made.Set(path, nullptr, 0));
  TRY_VOID(made.SetRaw(path, json));
  *this = std::move(made);
  return {};
}

base::Result<void> JsonText::Remove(Path path) {
  const Walker walker(text_);
  const Place place = Locate(walker, path);
  if (path.empty() || place.depth != path.size()) return {};
  const std::size_t at = *place.found;
  const auto start = [&](std::size_t i) {
    const Member& member = place.around[i];
    return member.key.end != 0 ? member.key.begin : member.value.begin;
  };
  const JsonSpan all = place.containers.back();
  std::size_t begin = start(at), end = place.around[at].value.end;
  if (at + 1 < place.around.size()) {
    end = start(at + 1);
  } else if (at > 0) {
    begin = place.around[at - 1].value.end;
  } else {
    begin = all.begin + 1;
    end = all.end - 1;
  }
  return Replace(base::Apply(text_, {{begin, end - begin, ""}}));
}

}  // namespace partita::config
