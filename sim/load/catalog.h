// The facts that nodes are built from: products and ready-made nodes, built into the program or
// read from a directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::sim::load {

// One YAML file of data/.
struct DataFile {
  std::string name;  // "H200": its file name without .yaml
  std::string path;  // as problems in it are reported
  std::string text;
};

class Catalog {
 public:
  // What data/ held when this program was built.
  static Catalog BuiltIn();
  // `<directory>/products/*.yaml` and `<directory>/nodes/*.yaml`.
  static base::Result<Catalog> FromDirectory(const std::string& directory);

  [[nodiscard]] const std::vector<DataFile>& products() const { return products_; }
  [[nodiscard]] const std::vector<DataFile>& nodes() const { return nodes_; }
  // Null when there is none of that name.
  [[nodiscard]] const DataFile* FindProduct(std::string_view name) const;
  [[nodiscard]] const DataFile* FindNode(std::string_view name) const;

 private:
  std::vector<DataFile> products_;  // by name
  std::vector<DataFile> nodes_;
};

// The names of these files, in order.
[[nodiscard]] std::vector<std::string> Names(const std::vector<DataFile>& files);

}  // namespace partita::sim::load
