// YAML as a tree in which every value knows where it was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::config {

enum class NodeKind : std::uint8_t { kNull, kScalar, kList, kMap };

// One value of a document. What an alias or a merge key brings in keeps the position where it was
// written.
struct Node {
  struct Entry;

  NodeKind kind = NodeKind::kNull;
  std::string text;     // scalars as written, without quotes; "" or "~" or "null" for kNull
  bool quoted = false;  // a scalar in quotes or block style: a string whatever it looks like
  int line = 1;         // of the first character, from 1
  int column = 1;       // in characters, from 1
  int length = 1;       // characters on that line, for carets

  std::vector<Node> items;     // kList
  std::vector<Entry> entries;  // kMap, in order; keys are scalars and differ

  [[nodiscard]] bool IsNull() const { return kind == NodeKind::kNull; }
  [[nodiscard]] bool IsScalar() const { return kind == NodeKind::kScalar; }
  [[nodiscard]] bool IsList() const { return kind == NodeKind::kList; }
  [[nodiscard]] bool IsMap() const { return kind == NodeKind::kMap; }

  // The value of a key, or null when it is absent (or this is no map).
  [[nodiscard]] const Node* Find(std::string_view key) const;
  // The key itself, for problems with it.
  [[nodiscard]] const Node* FindKey(std::string_view key) const;
};

struct Node::Entry {
  Node key;
  Node value;
};

// What of a document problems with it may show.
enum class Quoting : std::uint8_t {
  kLines,    // the line, with carets
  kNothing,  // where and what, nothing of what is written there: it has secrets
};

// "a list", "a map", "nothing", `"text"`: for messages.
[[nodiscard]] std::string Describe(const Node& node);

// One YAML document. Errors are kInvalid with the rendering of problems.h as their message.
class Document {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{4} * 1024 * 1024;
  static constexpr int kMaxDepth = 64;
  static constexpr std::size_t kMaxNodes = 100'000;  // after aliases were expanded

  // Exactly one document; an empty text is a null root. Duplicate keys, keys that are no scalars, a
  // second document, tags, unknown aliases and whatever exceeds the bounds are errors.
  [[nodiscard]] static base::Result<Document> Parse(std::string text,
                                                    std::string file_name,
                                                    Quoting quoting = Quoting::kLines);
  [[nodiscard]] static base::Result<Document> Load(const std::string& path);

  [[nodiscard]] const Node& root() const { return root_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& file_name() const { return file_name_; }
  [[nodiscard]] Quoting quoting() const { return quoting_; }

 private:
  Document(std::string text, std::string file_name, Quoting quoting, Node root)
      : text_(std::move(text)),
        file_name_(std::move(file_name)),
        quoting_(quoting),
        root_(std::move(root)) {}

  std::string text_;
  std::string file_name_;
  Quoting quoting_;
  Node root_;
};

// Every document of a text, as `kubectl apply` takes them: with "---" between. Empty ones are left
// out. The bounds are those of Document, for all of them together; anchors are each document's own.
struct DocumentStream {
  std::string text;
  std::string file_name;
  std::vector<Node> roots;

  [[nodiscard]] static base::Result<DocumentStream> Parse(std::string text, std::string file_name);
};

}  // namespace partita::config
