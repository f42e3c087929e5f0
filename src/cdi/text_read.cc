// The reading half of text.h.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/text.h"
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
class Object {
 public:
  Object(const Node& node, Problems& problems, std::string_view what)
      : node_(node), problems_(problems), is_map_(config::ExpectMap(node, problems, what)) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() {
    if (is_map_) config::RejectUnknownKeys(node_, known_, problems_);
  }

  Object& Require(const std::string& key, std::string& out) {
    const Node* node = node_.Find(key);
    if (is_map_ && (node == nullptr || node->IsNull()))
      problems_.Add(node_, "missing key " + base::Quoted(key));
    return Text(key, out);
  }
  Object& Text(const std::string& key, std::string& out) {
    if (const Node* node = Find(key)) out = config::ReadString(*node, problems_).value_or("");
    return *this;
  }
  Object& Texts(const std::string& key, std::vector<std::string>& out) {
    if (const Node* node = Find(key)) out = config::ReadStrings(*node, problems_);
    return *this;
  }
  Object& Whole(const std::string& key, std::int64_t& out) {
    if (const Node* node = Find(key)) out = ReadWhole(*node, problems_).value_or(0);
    return *this;
  }
  Object& Whole(const std::string& key, std::optional<std::int64_t>& out) {
    if (const Node* node = Find(key)) out = ReadWhole(*node, problems_);
    return *this;
  }
  Object& Word(const std::string& key, std::optional<std::uint32_t>& out) {
    if (const Node* node = Find(key)) out = ReadWord(*node, problems_);
    return *this;
  }
  Object& Words(const std::string& key, std::vector<std::uint32_t>& out) {
    const Node* node = Find(key);
    if (node == nullptr || !config::ExpectList(*node, problems_, "a list of numbers")) return *this;
    for (const Node& item : node->items) {
      if (const std::optional<std::uint32_t> word = ReadWord(item, problems_)) out.push_back(*word);
    }
    return *this;
  }
  Object& Switch(const std::string& key, bool& out) {
    if (const Node* node = Find(key)) out = config::ReadBool(*node, problems_).value_or(false);
    return *this;
  }
  Object& Map(const std::string& key, Annotations& out) {
    const Node* node = Find(key);
    if (node == nullptr || !config::ExpectMap(*node, problems_, "annotations")) return *this;
    for (const Node::Entry& entry : node->entries) {
      if (std::optional<std::string> text = config::ReadString(entry.value, problems_))
        out.emplace(entry.key.text, *std::move(text));
    }
    return *this;
  }
  template <typename T>
  Object& List(const std::string& key, std::vector<T>& out, T (*read)(const Node&, Problems&)) {
    const Node* node = Find(key);
    if (node == nullptr || !config::ExpectList(*node, problems_, "a list")) return *this;
    for (const Node& item : node->items) out.push_back(read(item, problems_));
    return *this;
  }
  template <typename T, typename Out>
  Object& One(const std::string& key, Out& out, T (*read)(const Node&, Problems&)) {
    if (const Node* node = Find(key)) out = read(*node, problems_);
    return *this;
  }

 private:
  const Node* Find(const std::string& key) {
    known_.push_back(key);
    const Node* node = node_.Find(key);
    return node == nullptr || node->IsNull() ? nullptr : node;
  }

  const Node& node_;
  Problems& problems_;
  bool is_map_;
  std::vector<std::string> known_;
};

DeviceNode ReadNode(const Node& node, Problems& problems) {
  DeviceNode out;
  Object(node, problems, "a device node")
      .Require("path", out.path)
      .Text("hostPath", out.host_path)
      .Text("type", out.type)
      .Whole("major", out.major)
      .Whole("minor", out.minor)
      .Word("fileMode", out.file_mode)
      .Text("permissions", out.permissions)
      .Word("uid", out.uid)
      .Word("gid", out.gid);
  return out;
}

NetDevice ReadNetDevice(const Node& node, Problems& problems) {
  NetDevice out;
  Object(node, problems, "a net device")
      .Require("hostInterfaceName", out.host_interface_name)
      .Require("name", out.name);
  return out;
}

Hook ReadHook(const Node& node, Problems& problems) {
  Hook out;
  Object(node, problems, "a hook")
      .Require("hookName", out.hook_name)
      .Require("path", out.path)
      .Texts("args", out.args)
      .Texts("env", out.env)
      .Whole("timeout", out.timeout);
  return out;
}

Mount ReadMount(const Node& node, Problems& problems) {
  Mount out;
  Object(node, problems, "a mount")
      .Require("hostPath", out.host_path)
      .Require("containerPath", out.container_path)
      .Texts("options", out.options)
      .Text("type", out.type);
  return out;
}

IntelRdt ReadRdt(const Node& node, Problems& problems) {
  IntelRdt out;
  Object(node, problems, "intelRdt")
      .Text("closID", out.clos_id)
      .Text("l3CacheSchema", out.l3_cache_schema)
      .Text("memBwSchema", out.mem_bw_schema)
      .Texts("schemata", out.schemata)
      .Switch("enableMonitoring", out.enable_monitoring);
  return out;
}

ContainerEdits ReadEdits(const Node& node, Problems& problems) {
  ContainerEdits out;
  Object(node, problems, "containerEdits")
      .Texts("env", out.env)
      .List("deviceNodes", out.device_nodes, ReadNode)
      .List("netDevices", out.net_devices, ReadNetDevice)
      .List("hooks", out.hooks, ReadHook)
      .List("mounts", out.mounts, ReadMount)
      .One("intelRdt", out.intel_rdt, ReadRdt)
      .Words("additionalGids", out.additional_gids);
  return out;
}

Device ReadDevice(const Node& node, Problems& problems) {
  Device out;
  Object(node, problems, "a device")
      .Require("name", out.name)
      .Map("annotations", out.annotations)
      .One("containerEdits", out.edits, ReadEdits);
  return out;
}

Spec ReadSpec(const Node& node, Problems& problems) {
  Spec out;
  Object(node, problems, "a CDI specification")
      .Require("cdiVersion", out.version)
      .Require("kind", out.kind)
      .Map("annotations", out.annotations)
      .List("devices", out.devices, ReadDevice)
      .One("containerEdits", out.edits, ReadEdits);
  return out;
}

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
  Spec spec = ReadSpec(document.root(), problems);
  TRY_VOID(problems.ToResult());
  return spec;
}

}  // namespace partita::cdi
