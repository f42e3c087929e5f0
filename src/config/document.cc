#include "config/document.h"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "config/problems.h"

namespace partita::config {
namespace {

constexpr std::array<std::string_view, 5> kNullWords = {"", "~", "null", "Null", "NULL"};

bool IsNullWord(std::string_view text) {
  return std::find(kNullWords.begin(), kNullWords.end(), text) != kNullWords.end();
}

std::string_view FromYaml(const yaml_char_t* text, std::size_t length) {
  return {reinterpret_cast<const char*>(text), length};
}

// libyaml's parser and its current event, as one owner.
class EventStream {
 public:
  explicit EventStream(std::string_view text) {
    PARTITA_CHECK(yaml_parser_initialize(&parser_) == 1);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const yaml_char_t*>(text.data()),
                                 text.size());
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  }
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;
  ~EventStream() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }

  // False when the text is not YAML; parser() then says why.
  bool Next() {
    yaml_event_delete(&event_);
    return yaml_parser_parse(&parser_, &event_) == 1;
  }
  [[nodiscard]] const yaml_event_t& event() const { return event_; }
  [[nodiscard]] const yaml_parser_t& parser() const { return parser_; }

 private:
  yaml_parser_t parser_ = {};
  yaml_event_t event_ = {};
};

// What was wrong, at a place; only ever one, since the tree ends there.
struct Fault {
  Node place;
  std::string message;
  std::string hint;
};

int Clamped(std::size_t number) { return static_cast<int>(std::min<std::size_t>(number, 1 << 30)); }

Node NodeAt(const yaml_mark_t& mark) {
  Node node;
  node.line = Clamped(mark.line + 1);
  node.column = Clamped(mark.column + 1);
  return node;
}

Node NodeAt(const yaml_event_t& event) {
  Node node = NodeAt(event.start_mark);
  const bool one_line = event.end_mark.line == event.start_mark.line;
  const std::size_t length =
      one_line ? event.end_mark.column - event.start_mark.column : std::size_t{1};
  node.length = std::max(1, Clamped(length));
  return node;
}

std::string_view AnchorOf(const yaml_event_t& event) {
  const yaml_char_t* anchor = nullptr;
  if (event.type == YAML_SCALAR_EVENT) anchor = event.data.scalar.anchor;
  if (event.type == YAML_SEQUENCE_START_EVENT) anchor = event.data.sequence_start.anchor;
  if (event.type == YAML_MAPPING_START_EVENT) anchor = event.data.mapping_start.anchor;
  return anchor == nullptr ? "" : reinterpret_cast<const char*>(anchor);
}

std::string_view TagOf(const yaml_event_t& event) {
  const yaml_char_t* tag = nullptr;
  if (event.type == YAML_SCALAR_EVENT) tag = event.data.scalar.tag;
  if (event.type == YAML_SEQUENCE_START_EVENT) tag = event.data.sequence_start.tag;
  if (event.type == YAML_MAPPING_START_EVENT) tag = event.data.mapping_start.tag;
  return tag == nullptr ? "" : reinterpret_cast<const char*>(tag);
}

std::size_t CountNodes(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items) count += CountNodes(item);
  for (const Node::Entry& entry : node.entries) count += 1 + CountNodes(entry.value);
  return count;
}

int DepthOf(const Node& node) {
  int deepest = 0;
  for (const Node& item : node.items) deepest = std::max(deepest, DepthOf(item));
  for (const Node::Entry& entry : node.entries) deepest = std::max(deepest, DepthOf(entry.value));
  return deepest + 1;
}

// Builds the tree from events. Every function returns false once `fault` is set.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::string_view text, Quoting quoting = Quoting::kLines)
      : stream_(text), quoting_(quoting) {}

  std::optional<Fault> Build(Node& root) {
    if (BuildStream(root)) return std::nullopt;
    return std::move(fault_);
  }

  std::optional<Fault> BuildAll(std::vector<Node>& roots) {
    if (BuildDocuments(roots)) return std::nullopt;
    return std::move(fault_);
  }

 private:
  using KeyLines = std::map<std::string, int, std::less<>>;

  const yaml_event_t& event() const { return stream_.event(); }

  // " TEXT", where it may be told.
  [[nodiscard]] std::string Word(std::string_view text) const {
    return quoting_ == Quoting::kNothing ? "" : " " + base::Quoted(text);
  }

  bool Fail(Node place, std::string message, std::string hint = "") {
    fault_ = Fault{std::move(place), std::move(message), std::move(hint)};
    return false;
  }

  bool Advance() {
    if (stream_.Next()) return true;
    const yaml_parser_t& parser = stream_.parser();
    if (parser.error == YAML_MEMORY_ERROR) return Fail(Node{}, "out of memory");
    if (parser.error == YAML_READER_ERROR) return Fail(ReaderPlace(), UnreadableText());
    Node place = NodeAt(parser.problem_mark);
    const std::string problem = parser.problem == nullptr ? "bad YAML" : parser.problem;
    // libyaml's context ("while parsing a block mapping") begins where the construct does.
    if (parser.context == nullptr) return Fail(std::move(place), "not YAML: " + problem);
    return Fail(std::move(place), fmt::format("not YAML: {} {} that begins in line {}", problem,
                                              parser.context, parser.context_mark.line + 1));
  }

  // The reader reports a byte offset and has no mark.
  Node ReaderPlace() const {
    Node place;
    const std::string_view text =
        FromYaml(stream_.parser().input.string.start,
                 static_cast<std::size_t>(stream_.parser().input.string.end -
                                          stream_.parser().input.string.start));
    const std::string_view before =
        text.substr(0, std::min(stream_.parser().problem_offset, text.size()));
    place.line =
        Clamped(static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1);
    const std::size_t line_start = before.find_last_of('\n') + 1;  // npos + 1 is 0
    place.column = Clamped(base::CountCharacters(before.substr(line_start)) + 1);
    return place;
  }

  std::string UnreadableText() const {
    return fmt::format("not text: {} (0x{:02x})", stream_.parser().problem,
                       static_cast<unsigned>(stream_.parser().problem_value));
  }

  bool BuildStream(Node& root) {
    if (!Advance() || !Advance()) return false;  // stream start, then the document or the end
    if (event().type == YAML_STREAM_END_EVENT) return true;
    if (!Advance() || !BuildNode(root, 1)) return false;
    if (!Advance() || !Advance()) return false;  // document end, then the end
    if (event().type == YAML_STREAM_END_EVENT) return true;
    return Fail(NodeAt(event().start_mark), "a second YAML document begins here",
                "keep one document per file");
  }

  bool BuildDocuments(std::vector<Node>& roots) {
    if (!Advance() || !Advance()) return false;  // stream start, then a document or the end
    while (event().type != YAML_STREAM_END_EVENT) {
      anchors_.clear();
      Node root;
      if (!Advance() || !BuildNode(root, 1)) return false;
      if (!root.IsNull()) roots.push_back(std::move(root));
      if (!Advance() || !Advance()) return false;  // document end, then the next or the end
    }
    return true;
  }

  // Builds the node whose first event is current.
  bool BuildNode(Node& node, int depth) {
    if (event().type == YAML_ALIAS_EVENT) return CopyAnchored(node, depth);
    node = NodeAt(event());
    if (depth > Document::kMaxDepth)
      return Fail(node, fmt::format("nested deeper than {} levels", Document::kMaxDepth));
    if (++nodes_ > Document::kMaxNodes) return FailTooMany(node);
    if (const std::string_view tag = TagOf(event()); !tag.empty())
      return Fail(node, fmt::format("tag{} is not supported", Word(tag)), "remove it");
    const std::string anchor(AnchorOf(event()));
    if (!BuildContent(node, depth)) return false;
    return anchor.empty() || KeepAnchored(anchor, node);
  }

  // The copy counts as values too: anchors inside anchors would otherwise multiply the memory.
  bool KeepAnchored(const std::string& anchor, const Node& node) {
    nodes_ += CountNodes(node);
    if (nodes_ > Document::kMaxNodes) return FailTooMany(node);
    anchors_.insert_or_assign(anchor, node);
    return true;
  }

  bool FailTooMany(const Node& node) {
    return Fail(node, fmt::format("more than {} values", Document::kMaxNodes));
  }

  bool BuildContent(Node& node, int depth) {
    if (event().type == YAML_SEQUENCE_START_EVENT) return BuildList(node, depth);
    if (event().type == YAML_MAPPING_START_EVENT) return BuildMap(node, depth);
    const auto& scalar = event().data.scalar;
    node.text = FromYaml(scalar.value, scalar.length);
    node.quoted = scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node.kind = !node.quoted && IsNullWord(node.text) ? NodeKind::kNull : NodeKind::kScalar;
    return true;
  }

  bool BuildList(Node& node, int depth) {
    node.kind = NodeKind::kList;
    for (;;) {
      if (!Advance()) return false;
      if (event().type == YAML_SEQUENCE_END_EVENT) return true;
      Node item;
      if (!BuildNode(item, depth + 1)) return false;
      node.items.push_back(std::move(item));
    }
  }

  bool BuildMap(Node& node, int depth) {
    node.kind = NodeKind::kMap;
    KeyLines seen;
    std::vector<Node> merged;
    for (;;) {
      if (!Advance()) return false;
      if (event().type == YAML_MAPPING_END_EVENT) break;
      Node key;
      if (!BuildKey(key, depth)) return false;
      const bool merge = !key.quoted && key.text == "<<";
      if (const auto [other, fresh] = seen.emplace(key.text, key.line); !fresh && !merge) {
        return Fail(key, fmt::format("duplicate key{}", Word(key.text)),
                    fmt::format("it is already in line {}", other->second));
      }
      Node value;
      if (!Advance() || !BuildNode(value, depth + 1)) return false;
      if (!merge) {
        node.entries.push_back({std::move(key), std::move(value)});
      } else if (!CollectMerge(key, std::move(value), merged)) {
        return false;
      }
    }
    for (Node& source : merged) Merge(std::move(source), node, seen);
    return true;
  }

  bool BuildKey(Node& key, int depth) {
    if (!BuildNode(key, depth + 1)) return false;
    if (key.kind == NodeKind::kScalar || key.kind == NodeKind::kNull) return true;
    return Fail(key, "a key must be a single word or a quoted text, not " + Describe(key));
  }

  bool CollectMerge(const Node& key, Node value, std::vector<Node>& merged) {
    if (value.IsMap()) {
      merged.push_back(std::move(value));
      return true;
    }
    const bool maps = value.IsList() && std::all_of(value.items.begin(), value.items.end(),
                                                    [](const Node& item) { return item.IsMap(); });
    if (!maps) {
      return Fail(key, "\"<<\" merges a map or a list of maps, not " +
                           Problems("", "", quoting_).Describe(value));
    }
    for (Node& item : value.items) merged.push_back(std::move(item));
    return true;
  }

  // Keys written in the map win over merged ones, earlier merges over later.
  static void Merge(Node source, Node& map, KeyLines& seen) {
    for (Node::Entry& entry : source.entries) {
      if (seen.emplace(entry.key.text, entry.key.line).second)
        map.entries.push_back(std::move(entry));
    }
  }

  bool CopyAnchored(Node& node, int depth) {
    const std::string name = reinterpret_cast<const char*>(event().data.alias.anchor);
    const auto anchored = anchors_.find(name);
    const Node place = NodeAt(event());
    // An anchor is known only once its node is complete, so an alias inside it is unknown too.
    if (anchored == anchors_.end()) {
      std::vector<std::string> names;
      for (const auto& [each, unused] : anchors_) names.push_back(each);
      const std::string near = quoting_ == Quoting::kNothing ? "" : base::DidYouMean(name, names);
      return Fail(place, fmt::format("unknown anchor{}", Word(name)),
                  near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
    }
    nodes_ += CountNodes(anchored->second);
    if (nodes_ > Document::kMaxNodes) return FailTooMany(place);
    if (depth + DepthOf(anchored->second) - 1 > Document::kMaxDepth)
      return Fail(place, fmt::format("nested deeper than {} levels", Document::kMaxDepth));
    node = anchored->second;
    return true;
  }

  EventStream stream_;
  Quoting quoting_;
  std::map<std::string, Node, std::less<>> anchors_;
  std::size_t nodes_ = 0;
  std::optional<Fault> fault_;
};

base::Result<void> MakeReadable(std::string& text, const std::string& file_name) {
  if (text.size() > Document::kMaxBytes) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "{}: {} bytes are too many: the limit is {} MiB", file_name, text.size(),
                           Document::kMaxBytes / 1024 / 1024);
  }
  // Some editors mark UTF-8 so; libyaml takes the mark for a word once it is told the encoding.
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return {};
}

base::Error AtItsPlace(const std::string& text,
                       const std::string& file_name,
                       Fault fault,
                       Quoting quoting = Quoting::kLines) {
  Problems problems(text, file_name, quoting);
  problems.Add(fault.place, std::move(fault.message), std::move(fault.hint));
  return problems.ToResult().error();
}

}  // namespace

const Node* Node::Find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.key.text == key; });
  return found == entries.end() ? nullptr : &found->value;
}

const Node* Node::FindKey(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.key.text == key; });
  return found == entries.end() ? nullptr : &found->key;
}

std::string Describe(const Node& node) {
  switch (node.kind) {
    case NodeKind::kNull: return "nothing";
    case NodeKind::kScalar: return base::Quoted(node.text);
    case NodeKind::kList: return "a list";
    case NodeKind::kMap: return "a map";
  }
  return "nothing";
}

base::Result<Document> Document::Parse(std::string text, std::string file_name, Quoting quoting) {
  TRY_VOID(MakeReadable(text, file_name));
  Node root;
  if (std::optional<Fault> fault = TreeBuilder(text, quoting).Build(root))
    return AtItsPlace(text, file_name, *std::move(fault), quoting);
  return Document(std::move(text), std::move(file_name), quoting, std::move(root));
}

base::Result<DocumentStream> DocumentStream::Parse(std::string text, std::string file_name) {
  TRY_VOID(MakeReadable(text, file_name));
  std::vector<Node> roots;
  if (std::optional<Fault> fault = TreeBuilder(text).BuildAll(roots))
    return AtItsPlace(text, file_name, *std::move(fault));
  return DocumentStream{std::move(text), std::move(file_name), std::move(roots)};
}

base::Result<Document> Document::Load(const std::string& path) {
  base::Result<std::string> text = base::ReadFile(path);
  if (!text.ok() && text.error().hint().empty()) {
    return std::move(text).error().WithHint("check the path and who may read it");
  }
  if (!text.ok()) return std::move(text).error();
  return Parse(*std::move(text), path);
}

}  // namespace partita::config
