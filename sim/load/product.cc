#include "sim/load/product.h"

#include <string>
#include <vector>

#include "base/text.h"
#include "config/binders.h"
#include "sim/load/facts.h"
#include "sim/load/mig_facts.h"

namespace partita::sim::load {
namespace {

using config::Node;
using config::Problems;

std::vector<std::string> ReadSources(const Node& root, Problems& problems) {
  std::vector<std::string> names;
  const Node* sources = config::Require(root, "sources", problems);
  if (sources == nullptr || !config::ExpectMap(*sources, problems, "the sources")) return names;
  for (const Node::Entry& entry : sources->entries) {
    const auto sentence = config::ReadString(entry.value, problems);
    if (sentence && sentence->empty()) problems.Add(entry.key, "a source needs a sentence");
    names.push_back(entry.key.text);
  }
  return names;
}

void ReadFacts(const Node& root,
               const std::vector<std::string>& sources,
               Problems& problems,
               Product& product) {
  for (const FactRow& row : FactRows()) {
    const Node* fact = row.required ? config::Require(root, row.key, problems) : root.Find(row.key);
    if (fact == nullptr) continue;
    const Node* value = CheckFact(*fact, sources, problems);
    if (value != nullptr) row.read(*value, problems, product);
  }
}

}  // namespace

base::Result<Product> LoadProduct(const DataFile& file) {
  TRY(document, config::Document::Parse(file.text, file.path));
  Problems problems(document);
  const Node& root = document.root();
  if (!config::ExpectMap(root, problems, "a product file")) return problems.ToResult().error();

  std::vector<std::string> keys = FactKeys();
  keys.insert(keys.begin(), {"product", "sources", "mig"});
  config::RejectUnknownKeys(root, keys, problems);
  Product product;
  if (const Node* name = config::Require(root, "product", problems)) {
    const auto text = config::ReadString(*name, problems);
    if (text && *text != file.name) {
      problems.Add(*name, "the file is called " + base::Quoted(file.name + ".yaml"),
                   "product and file name must agree");
    }
    CopyText(file.name, *name, problems, product.board.product);
  }
  const std::vector<std::string> sources = ReadSources(root, problems);
  ReadFacts(root, sources, problems, product);
  if (const Node* mig = root.Find("mig")) ReadMig(*mig, sources, problems, product.board);
  TRY_VOID(problems.ToResult());
  return product;
}

void ApplyOverrides(const Node& overrides, Problems& problems, Product& product) {
  if (!config::ExpectMap(overrides, problems, "the overrides")) return;
  config::RejectUnknownKeys(overrides, FactKeys(), problems);
  for (const Node::Entry& entry : overrides.entries) {
    const FactRow* row = FindFactRow(entry.key.text);
    if (row != nullptr) row->read(entry.value, problems, product);
  }
}

}  // namespace partita::sim::load
