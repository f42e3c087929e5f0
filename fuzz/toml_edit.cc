// Any text as TOML, and edits of it: the first line is a path with dots, the rest the file. An edit
// that succeeds changes what it names and nothing else.
#include <string>
#include <vector>

#include "base/text.h"
#include "config/toml/edit.h"
#include "fuzz/target.h"
#include "service/toolkit/toml_meaning.h"

namespace {

using partita::config::Node;
using partita::config::TomlPath;
using partita::config::TomlStatement;
using partita::config::TomlText;
using partita::service::toolkit::TomlMeaning;

void CheckSpans(const TomlText& toml) {
  for (const TomlStatement& each : toml.toml().statements()) {
    PARTITA_CHECK(each.lines.begin <= each.key.begin && each.key.begin <= each.key.end);
    PARTITA_CHECK(each.key.end <= each.value.end && each.value.begin <= each.value.end);
    PARTITA_CHECK(each.lines.end <= toml.text().size() && each.value.end <= each.lines.end);
    PARTITA_CHECK(!each.within || *each.within < toml.toml().statements().size());
  }
}

bool CrossesList(const TomlText& toml, const TomlPath& path) {
  for (std::size_t parts = 1; parts < path.size(); ++parts) {
    const Node* node = toml.Find({path.begin(), path.begin() + static_cast<std::ptrdiff_t>(parts)});
    if (node != nullptr && node->IsList()) return true;
  }
  return false;
}

void TrySet(TomlText toml, const TomlPath& path) {
  const std::string before = TomlMeaning(toml.root(), {path});
  const std::string text = toml.text();
  if (!toml.Set(path, "17").ok()) {
    PARTITA_CHECK(toml.text() == text);
    return;
  }
  const Node* node = toml.Find(path);
  PARTITA_CHECK(node != nullptr && node->IsScalar() && node->text == "17");
  PARTITA_CHECK(TomlMeaning(toml.root(), {path}) == before);
  CheckSpans(toml);
  const std::string once = toml.text();
  PARTITA_CHECK(toml.Set(path, "17").ok());
  PARTITA_CHECK(toml.text() == once);
}

void TryAppend(TomlText toml, const TomlPath& path) {
  const Node* list = toml.Find(path);
  const std::size_t size = list == nullptr ? 0 : list->items.size();
  const std::string before = TomlMeaning(toml.root(), {path});
  if (!toml.Append(path, "\"x\"").ok()) return;
  PARTITA_CHECK(toml.Find(path)->items.size() == size + 1);
  PARTITA_CHECK(toml.Find(path)->items.back().text == "x");
  PARTITA_CHECK(TomlMeaning(toml.root(), {path}) == before);
}

void TryRemove(TomlText toml, const TomlPath& path) {
  const bool crosses = CrossesList(toml, path);
  const std::string before = TomlMeaning(toml.root(), {path});
  PARTITA_CHECK(toml.Remove(path).ok());
  PARTITA_CHECK(crosses || toml.Find(path) == nullptr);
  PARTITA_CHECK(crosses || TomlMeaning(toml.root(), {path}) == before);
}

void TryCopy(const TomlText& toml, const TomlPath& path) {
  const Node* node = toml.Find(path);
  if (node == nullptr || !node->IsMap()) return;
  const auto copy = TomlText::Parse(toml.TextOf(path), "copy.toml");
  PARTITA_CHECK(copy.ok());
  const Node* copied = copy->Find(path);
  PARTITA_CHECK(TomlMeaning(*node, {}) == (copied == nullptr ? "" : TomlMeaning(*copied, {})));
}

}  // namespace

FUZZ_TARGET(toml_edit) {
  const std::string_view input = partita::fuzz::AsText(data, size);
  const std::size_t line = std::min(input.find('\n'), input.size());
  TomlPath path;
  for (const std::string_view part : partita::base::Split(input.substr(0, line), '.'))
    path.emplace_back(part);
  const std::string text(input.substr(std::min(line + 1, input.size())));
  const auto toml = TomlText::Parse(text, "input.toml");
  if (!toml.ok()) {
    PARTITA_CHECK(toml.error().message().starts_with("input.toml:"));
    return 0;
  }
  PARTITA_CHECK(toml->text() == text);
  CheckSpans(*toml);
  TrySet(*toml, path);
  TryAppend(*toml, path);
  TryRemove(*toml, path);
  TryCopy(*toml, path);
  return 0;
}
