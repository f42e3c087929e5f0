// Any bytes as a YAML document: the bounds hold, positions lie inside the text, and every problem
// can be rendered.
#include <algorithm>
#include <string>

#include "config/document.h"
#include "config/problems.h"
#include "fuzz/target.h"

namespace {

using partita::config::Document;
using partita::config::Node;
using partita::config::Problems;

struct Walk {
  int lines;
  std::size_t nodes = 0;
  Problems* problems;

  void Visit(const Node& node, int depth) {
    ++nodes;
    PARTITA_CHECK(depth <= Document::kMaxDepth);
    PARTITA_CHECK(node.line >= 1 && node.line <= lines + 1);
    PARTITA_CHECK(node.column >= 1 && node.length >= 1);
    PARTITA_CHECK(node.items.empty() || node.IsList());
    PARTITA_CHECK(node.entries.empty() || node.IsMap());
    if (problems->size() < 30) problems->Add(node, "here", partita::config::Describe(node));
    for (const Node& item : node.items) Visit(item, depth + 1);
    for (const Node::Entry& entry : node.entries) {
      PARTITA_CHECK(node.Find(entry.key.text) == &entry.value);
      ++nodes;
      Visit(entry.value, depth + 1);
    }
  }
};

}  // namespace

FUZZ_TARGET(yaml_document) {
  const std::string text(partita::fuzz::AsText(data, size));
  const partita::base::Result<Document> document = Document::Parse(text, "input.yaml");
  if (!document.ok()) {
    PARTITA_CHECK(document.error().message().starts_with("input.yaml:"));
    return 0;
  }
  Problems problems(*document);
  // libyaml also ends lines at CR, NEL, LS and PS, so there may be more than '\n' tells.
  Walk walk{static_cast<int>(size), 0, &problems};
  walk.Visit(document->root(), 1);
  PARTITA_CHECK(walk.nodes <= Document::kMaxNodes);
  PARTITA_CHECK(!problems.Render().empty());
  return 0;
}
