#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/text.h"
#include "sim/load/node_file.h"
#include "sim/tool/commands.h"
#include "sim/tool/nodes.h"
#include "sim/tool/table.h"

namespace partita::sim::tool {
namespace {

// "8 x A100-SXM4-40GB", "1 x T4, 1 x A30"
std::string Summary(const Machine& machine) {
  std::vector<std::pair<std::string, int>> counts;
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    const std::string product = machine.boards[i].product;
    if (counts.empty() || counts.back().first != product) counts.emplace_back(product, 0);
    ++counts.back().second;
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [product, count] : counts)
    parts.push_back(fmt::format("{} x {}", count, product));
  return parts.empty() ? "no GPU" : base::Join(parts, ", ");
}

base::Value PlaceValue(const NodePlace& place) {
  base::Value entry = base::Value::Map();
  entry.Set("name", place.name).Set("root", place.root);
  const auto node = Node::Open(place);
  if (!node.ok()) return entry.Set("error", node.error().ToString());
  const Machine& machine = (*node)->machine();
  entry.Set("driver", machine.driver_version);
  entry.Set("gpus", machine.gpu_count).Set("boards", Summary(machine));
  return entry;
}

std::string Cell(const base::Value& row, std::string_view key) {
  const base::Value* value = row.Find(key);
  if (value == nullptr) return "-";
  return value->kind() == base::Value::Kind::kString ? value->AsString() : base::ToJsonLine(*value);
}

std::string NodesText(const base::Value& document) {
  const std::vector<base::Value>& nodes = document.Find("nodes")->items();
  if (nodes.empty()) return "no simulated node is up; partita-sim up PROFILE makes one\n";
  std::vector<std::vector<std::string>> rows = {{"NODE", "DRIVER", "GPUS", "ROOT"}};
  for (const base::Value& node : nodes) {
    const base::Value* error = node.Find("error");
    rows.push_back({Cell(node, "name"), Cell(node, "driver"),
                    error == nullptr ? Cell(node, "boards") : error->AsString(),
                    Cell(node, "root")});
  }
  return Table(rows);
}

std::string ProfilesText(const base::Value& document) {
  std::vector<std::vector<std::string>> rows = {{"PROFILE", "GPUS", "DESCRIPTION"}};
  for (const base::Value& profile : document.Find("profiles")->items()) {
    rows.push_back({Cell(profile, "name"), Cell(profile, "boards"), Cell(profile, "description")});
  }
  std::vector<std::string> products;
  for (const base::Value& product : document.Find("products")->items()) {
    products.push_back(product.AsString());
  }
  return Table(rows) + "\nproducts for node files: " + base::Join(products, ", ") + "\n";
}

base::Result<base::Value> DescribeProfiles(const base::Invocation& invocation) {
  TRY(catalog, ChooseCatalog(invocation));
  base::Value profiles = base::Value::List();
  for (const load::DataFile& file : catalog.nodes()) {
    TRY(node, load::LoadNode(file, catalog, ""));
    profiles.Add(base::Value::Map()
                     .Set("name", file.name)
                     .Set("gpus", node.machine->gpu_count)
                     .Set("boards", Summary(*node.machine))
                     .Set("description", node.description));
  }
  base::Value products = base::Value::List();
  for (const load::DataFile& file : catalog.products()) products.Add(file.name);
  return base::Value::Map().Set("profiles", profiles).Set("products", products);
}

}  // namespace

base::Result<load::Catalog> ChooseCatalog(const base::Invocation& invocation) {
  const std::optional<std::string> directory = invocation.Get("data");
  if (!directory) return load::Catalog::BuiltIn();
  return load::Catalog::FromDirectory(*directory);
}

int RunList(const base::Invocation& invocation) {
  const auto places = ListNodes();
  if (!places.ok()) return Report(places.error());
  base::Value nodes = base::Value::List();
  for (const NodePlace& place : *places) nodes.Add(PlaceValue(place));
  return Print(invocation, base::Value::Map().Set("nodes", nodes), NodesText);
}

int RunProfiles(const base::Invocation& invocation) {
  const auto document = DescribeProfiles(invocation);
  return document.ok() ? Print(invocation, *document, ProfilesText) : Report(document.error());
}

}  // namespace partita::sim::tool
