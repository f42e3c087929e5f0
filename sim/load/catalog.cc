#include "sim/load/catalog.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "sim/load/built_in.h"

namespace partita::sim::load {
namespace {

constexpr std::string_view kSuffix = ".yaml";

// "H200" of "H200.yaml"; nothing for a file of another kind.
std::optional<std::string> StemOf(std::string_view file_name) {
  if (file_name.size() <= kSuffix.size() || !file_name.ends_with(kSuffix)) return std::nullopt;
  return std::string(file_name.substr(0, file_name.size() - kSuffix.size()));
}

base::Result<std::vector<DataFile>> ReadFolder(const std::string& folder) {
  TRY(names, base::ListDirectory(folder));
  std::vector<DataFile> files;
  for (const std::string& name : names) {
    const std::optional<std::string> stem = StemOf(name);
    if (!stem) continue;
    const std::string path = base::JoinPath(folder, name);
    TRY(text, base::ReadFile(path));
    files.push_back({*stem, path, std::move(text)});
  }
  return files;
}

const DataFile* Find(const std::vector<DataFile>& files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &DataFile::name);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace

Catalog Catalog::BuiltIn() {
  Catalog catalog;
  for (const BuiltInFile& file : BuiltInFiles()) {
    const std::vector<std::string_view> parts = base::Split(file.path, '/');
    const std::optional<std::string> stem = StemOf(parts.back());
    if (parts.size() != 3 || !stem) continue;  // not a product and not a node
    DataFile entry{*stem, std::string(file.path), std::string(file.text)};
    std::vector<DataFile>& folder = parts[1] == "products" ? catalog.products_ : catalog.nodes_;
    folder.push_back(std::move(entry));
  }
  return catalog;
}

base::Result<Catalog> Catalog::FromDirectory(const std::string& directory) {
  Catalog catalog;
  TRY(products, ReadFolder(base::JoinPath(directory, "products")), "--data {}", directory);
  TRY(nodes, ReadFolder(base::JoinPath(directory, "nodes")), "--data {}", directory);
  catalog.products_ = std::move(products);
  catalog.nodes_ = std::move(nodes);
  return catalog;
}

const DataFile* Catalog::FindProduct(std::string_view name) const { return Find(products_, name); }
const DataFile* Catalog::FindNode(std::string_view name) const { return Find(nodes_, name); }

std::vector<std::string> Names(const std::vector<DataFile>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const DataFile& file : files) names.push_back(file.name);
  return names;
}

}  // namespace partita::sim::load
