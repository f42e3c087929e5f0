// TOML 1.0 as a tree in which every value knows where it was written, and as the statements that
// the file consists of, with the bytes of each: config/toml/edit splices at them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/document.h"

namespace partita::config {

// In bytes of the text.
struct TomlSpan {
  std::size_t begin = 0, end = 0;
  bool operator==(const TomlSpan&) const = default;
};

// One line of the file that says something (or several, where a value has more), or one key of an
// inline table.
struct TomlStatement {
  enum class Kind : std::uint8_t { kTable, kTableList, kKey, kInlineKey };
  Kind kind = Kind::kKey;
  std::vector<std::string> path{};  // from the root on
  std::size_t key_parts = 1;        // how many of the path are written in the key
  TomlSpan lines{};  // from the beginning of its line to behind the end; kInlineKey: key to value
  TomlSpan key{};    // as written, with its dots
  TomlSpan value{};  // empty for headers
  std::vector<TomlSpan> items{};      // of a list
  std::optional<std::size_t> within;  // the header above, or the key whose inline table has it
  bool in_list = false;               // below [[…]] or in a list: no path names it
  [[nodiscard]] bool IsHeader() const { return kind == Kind::kTable || kind == Kind::kTableList; }
};

class Toml {
 public:
  // Bounds are Document's. Errors are kInvalid with the rendering of problems.h as their message.
  // The root is a map. Texts are `quoted` scalars; of every other scalar `text` is as written, but
  // numbers without "_". A byte order mark in front is skipped and kept.
  [[nodiscard]] static base::Result<Toml> Parse(std::string text, std::string file_name);

  [[nodiscard]] const Node& root() const { return root_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& file_name() const { return file_name_; }
  // In the order of the file.
  [[nodiscard]] const std::vector<TomlStatement>& statements() const { return statements_; }

 private:
  Toml(std::string text, std::string file_name, Node root, std::vector<TomlStatement> statements)
      : text_(std::move(text)),
        file_name_(std::move(file_name)),
        root_(std::move(root)),
        statements_(std::move(statements)) {}

  std::string text_;
  std::string file_name_;
  Node root_;
  std::vector<TomlStatement> statements_;
};

}  // namespace partita::config
