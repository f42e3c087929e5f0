#include "service/toolkit/toml_meaning.h"

#include <algorithm>
#include <map>

namespace partita::service::toolkit {
namespace {

using config::Node;
using config::TomlPath;

// Nothing for a table in which nothing is left.
std::string Meaning(const Node& node, const TomlPath& path, const std::vector<TomlPath>& besides) {
  if (!node.IsMap()) return config::TomlValue(node);
  std::map<std::string, std::string> members;
  for (const Node::Entry& entry : node.entries) {
    TomlPath below = path;
    below.push_back(entry.key.text);
    if (std::find(besides.begin(), besides.end(), below) != besides.end()) continue;
    std::string meaning = Meaning(entry.value, below, besides);
    if (!meaning.empty()) members.emplace(entry.key.text, std::move(meaning));
  }
  if (members.empty()) return "";
  std::string text = "{";
  for (const auto& [key, meaning] : members)
    text += config::TomlDotted({key}) + "=" + meaning + ";";
  return text + "}";
}

}  // namespace

std::string TomlMeaning(const Node& root, const std::vector<TomlPath>& besides) {
  return Meaning(root, {}, besides);
}

}  // namespace partita::service::toolkit
