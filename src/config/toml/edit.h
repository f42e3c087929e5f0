// A TOML file that is edited in place: what an edit does not name keeps its bytes, comments too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/toml/toml.h"

namespace partita::config {

// The parts of a dotted key, from the root on.
using TomlPath = std::vector<std::string>;

class TomlText {
 public:
  [[nodiscard]] static base::Result<TomlText> Parse(std::string text, std::string file_name);

  [[nodiscard]] const std::string& text() const { return toml_.text(); }
  [[nodiscard]] const Node& root() const { return toml_.root(); }
  [[nodiscard]] const Toml& toml() const { return toml_; }

  // Null where it is absent; what is below a list has no path.
  [[nodiscard]] const Node* Find(const TomlPath& path) const;

  // Replaces the value of a key, or adds the key behind the last one of its table, which is made
  // beside its relatives where there is none. `value` is TOML and put as it is. kConflict where
  // something on the way is no table, or the path names a table.
  [[nodiscard]] base::Result<void> Set(const TomlPath& path, std::string_view value);
  // Adds an item to a list, last; where there is no list, it is made.
  [[nodiscard]] base::Result<void> Append(const TomlPath& path, std::string_view value);
  // A key, or a table with all below it. Absent is success; parents that become empty stay.
  [[nodiscard]] base::Result<void> Remove(const TomlPath& path);

  // The table and all below it as a document of their own, copied with the comments inside.
  [[nodiscard]] std::string TextOf(const TomlPath& table) const;

 private:
  explicit TomlText(Toml toml) : toml_(std::move(toml)) {}

  [[nodiscard]] base::Result<void> Replace(std::string text);

  Toml toml_;
};

// The value as TOML on one line.
[[nodiscard]] std::string TomlValue(const Node& node);
// `[a."b.c"]`'s inside.
[[nodiscard]] std::string TomlDotted(const TomlPath& path);

}  // namespace partita::config
