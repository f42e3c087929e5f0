// The reading half of text.h.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cdi/members.h"
#include "cdi/text.h"
#include "config/binders.h"
#include "config/document.h"
#include "config/problems.h"

namespace partita::cdi {
namespace {

using config::Node;
using config::Problems;

// A whole number as go-yaml reads one, since the files are written for its readers: "0666" is
// octal, and underscores are nothing.
std::optional<std::int64_t> ParseGoInteger(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  struct Prefix {
    std::string_view text;
    int base;
  };
  constexpr std::array<Prefix, 4> kPrefixes = {{{"0x", 16}, {"0o", 8}, {"0b", 2}, {"0", 8}}};
  int base = 10;
  for (const Prefix& prefix : kPrefixes) {
    if (digits.size() <= prefix.text.size() || !digits.starts_with(prefix.text)) continue;
    base = prefix.base;
    digits.remove_prefix(prefix.text.size());
    break;
  }
  const std::optional<std::uint64_t> size = base::ParseUnsigned(digits, base);
  constexpr auto kMost = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (!size || *size > kMost) return std::nullopt;
  const auto value = static_cast<std::int64_t>(*size);
  return negative ? -value : value;
}

std::optional<std::int64_t> ReadWhole(const Node& node, Problems& problems) {
  if (node.IsScalar() && !node.quoted) {
    if (const std::optional<std::int64_t> value = ParseGoInteger(node.text)) return value;
  }
  problems.Add(node, "expected a whole number, not " + config::Describe(node),
               node.quoted ? "write it without quotes" : "");
  return std::nullopt;
}

std::optional<std::uint32_t> ReadWord(const Node& node, Problems& problems) {
  const std::optional<std::int64_t> value = ReadWhole(node, problems);
  if (!value) return std::nullopt;
  if (*value >= 0 && *value <= std::numeric_limits<std::uint32_t>::max())
    return static_cast<std::uint32_t>(*value);
  problems.Add(node, "expected a number from 0 to 4294967295, not " + config::Describe(node));
  return std::nullopt;
}

// One object of the specification: each member goes to its place, and no other key may be there.
// A key without a value is as one that is absent.
class Reader {
 public:
  template <typename T>
  static T Read(const Node& node, Problems& problems, std::string_view name) {
    T out;
    Reader reader(node, problems, name);
    Describe(reader, out);
    if (reader.is_map_) config::RejectUnknownKeys(node, reader.known_, problems);
    return out;
  }

  Reader& Must(const char* key, std::string& out) {
    const Node* node = node_.Find(key);
    if (is_map_ && (node == nullptr || node->IsNull()))
      problems_.Add(node_, "missing key " + base::Quoted(key));
    return May(key, out);
  }
  template <typename T>
  Reader& Always(const char* key, T& out, std::string_view name) {
    return May(key, out, name);
  }
  template <typename T>
  Reader& May(const char* key, T& out, std::string_view name = "") {
    known_.emplace_back(key);
    const Node* node = node_.Find(key);
    if (node != nullptr && !node->IsNull()) Take(*node, out, name);
    return *this;
  }

 private:
  Reader(const Node& node, Problems& problems, std::string_view name)
      : node_(node), problems_(problems), is_map_(config::ExpectMap(node, problems, name)) {}

  void Take(const Node& node, std::string& out, std::string_view /*name*/) {
    out = config::ReadString(node, problems_).value_or("");
  }
  void Take(const Node& node, bool& out, std::string_view /*name*/) {
    out = config::ReadBool(node, problems_).value_or(false);
  }
  void Take(const Node& node, std::int64_t& out, std::string_view /*name*/) {
    out = ReadWhole(node, problems_).value_or(0);
  }
  void Take(const Node& node, std::optional<std::int64_t>& out, std::string_view /*name*/) {
    out = ReadWhole(node, problems_);
  }
  void Take(const Node& node, std::optional<std::uint32_t>& out, std::string_view /*name*/) {
    out = ReadWord(node, problems_);
  }
  void Take(const Node& node, std::vector<std::string>& out, std::string_view /*name*/) {
    out = config::ReadStrings(node, problems_);
  }
  void Take(const Node& node, std::vector<std::uint32_t>& out, std::string_view /*name*/) {
    if (!config::ExpectList(node, problems_, "a list of numbers")) return;
    for (const Node& item : node.items) {
      if (const std::optional<std::uint32_t> word = ReadWord(item, problems_)) out.push_back(*word);
    }
  }
  void Take(const Node& node, Annotations& out, std::string_view /*name*/) {
    if (!config::ExpectMap(node, problems_, "annotations")) return;
    for (const Node::Entry& entry : node.entries) {
      if (std::optional<std::string> text = config::ReadString(entry.value, problems_))
        out.emplace(entry.key.text, *std::move(text));
    }
  }
  template <typename T>
  void Take(const Node& node, std::vector<T>& out, std::string_view name) {
    if (!config::ExpectList(node, problems_, "a list")) return;
    for (const Node& item : node.items) out.push_back(Read<T>(item, problems_, name));
  }
  template <typename T>
  void Take(const Node& node, std::optional<T>& out, std::string_view name) {
    out = Read<T>(node, problems_, name);
  }
  template <typename T>
  void Take(const Node& node, T& out, std::string_view name) {
    out = Read<T>(node, problems_, name);
  }

  const Node& node_;
  Problems& problems_;
  bool is_map_;
  std::vector<std::string> known_;
};

// JSON may be indented with tabs, which YAML forbids. Inside its strings no tab can stand as it is,
// so with spaces instead it says the same, every place unmoved.
std::string AsYaml(std::string text) {
  if (base::Trim(text).starts_with('{') && base::ParseJson(text).ok())
    std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

}  // namespace

base::Result<Spec> Parse(std::string text, const std::string& file) {
  TRY(document, config::Document::Parse(AsYaml(std::move(text)), file));
  Problems problems(document);
  Spec spec = Reader::Read<Spec>(document.root(), problems, "a CDI specification");
  TRY_VOID(problems.ToResult());
  return spec;
}

}  // namespace partita::cdi
