#include "service/toolkit/containerd_tables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "service/toolkit/keyed_documents.h"
#include "service/toolkit/toml_meaning.h"

namespace partita::service::toolkit {
namespace {

using config::Node;
using config::TomlPath;
using config::TomlText;

constexpr std::string_view kDefaultType = "io.containerd.runc.v2";
constexpr const char* kRunc = "runc";

TomlPath RuncType(int version) {
  return Below(CriOf(version), {"containerd", "runtimes", kRunc, "runtime_type"});
}

// A file without a version is of version 1. containerd 2.4.2 obeys tables of version 2 in it all
// the same, and then drops those of version 1 without a word; containerd 1 ignores them
// (both: `containerd config dump`). With the line both read what is written.
base::Result<ContainerdSource> WithoutVersion(TomlText toml, const std::string& file) {
  const bool older = toml.Find(CriOf(1)) != nullptr;
  const bool newer = toml.Find(CriOf(2)) != nullptr, newest = toml.Find(CriOf(3)) != nullptr;
  if (IsEmpty(toml)) return ContainerdSource{std::move(toml), 2, true};
  if (!newer && !newest) return ContainerdSource{std::move(toml), 1, false};
  if (older || (newer && newest)) {
    return WrongFile(
        "tables of two versions of the CRI plugin, and no version", file,
        "containerd 1 and 2 read different ones: keep one of them, and write the version "
        "at the top");
  }
  return ContainerdSource{std::move(toml), newer ? 2 : 3, true};
}

// Where our entries go, everything that is there is a table.
base::Result<void> CheckTables(const TomlText& toml, const std::string& file) {
  for (const int version : {1, 2, 3}) {
    const TomlPath whole = Below(CriOf(version), {"containerd", "runtimes"});
    for (std::size_t parts = 1; parts <= whole.size(); ++parts) {
      const TomlPath path(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(parts));
      const Node* node = toml.Find(path);
      if (node != nullptr && !node->IsMap())
        return WrongFile(config::TomlDotted(path) + " is no table", file,
                         "mend the file first; it was left as it is");
    }
  }
  return {};
}

void PutSetting(std::vector<Setting>& settings, const TomlPath& path, std::string value) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& each) { return each.path == path; });
  if (found != settings.end()) {
    found->value = std::move(value);
  } else {
    settings.push_back({path, std::move(value)});
  }
}

const Node* Model(const TomlText& toml, const TomlPath& cri) {
  const Node* containerd = toml.Find(Below(cri, {"containerd"}));
  const Node* runtimes = containerd == nullptr ? nullptr : containerd->Find("runtimes");
  if (runtimes == nullptr) return nullptr;
  const Node* chosen = containerd->Find("default_runtime_name");
  if (chosen != nullptr && chosen->IsScalar() && !chosen->text.starts_with("nvidia")) {
    if (const Node* runtime = runtimes->Find(chosen->text)) return runtime;
  }
  if (const Node* runc = runtimes->Find("runc")) return runc;
  return runtimes->Find("crun");
}

std::vector<Setting> RuntimeSettings(const Node& model, int version, const std::string& path) {
  std::vector<Setting> settings;
  if (model.IsMap()) {
    CollectSettings(model, {}, settings);
  } else {
    settings = {{{"runtime_type"}, TomlQuotedText(kDefaultType)},
                {{"runtime_root"}, "\"\""},
                {{"runtime_engine"}, "\"\""},
                {{"privileged_without_host_devices"}, "false"}};
  }
  const auto type = std::find_if(settings.begin(), settings.end(), [](const Setting& each) {
    return each.path == TomlPath{"runtime_type"};
  });
  if (type == settings.end()) {
    settings.insert(settings.begin(), {{"runtime_type"}, TomlQuotedText(kDefaultType)});
  } else if (type->value == "\"\"") {
    type->value = TomlQuotedText(kDefaultType);
  }
  PutSetting(settings, {"options", "BinaryName"}, TomlQuotedText(path));
  if (version == 1) PutSetting(settings, {"options", "Runtime"}, TomlQuotedText(path));
  return settings;
}

// containerd 1 knows runc without being told, until a file names any runtime: then it knows those
// of the file alone, and without the default one the CRI plugin does not load.
bool LacksRunc(const TomlText& toml, int version, const std::string& name) {
  if (version > 2 || name == kRunc) return false;
  const Node* runtimes = toml.Find(Below(CriOf(version), {"containerd", "runtimes"}));
  return runtimes == nullptr ||
         std::all_of(runtimes->entries.begin(), runtimes->entries.end(),
                     [&](const Node::Entry& entry) { return entry.key.text == name; });
}

}  // namespace

TomlPath CriOf(int version) {
  return {"plugins", std::string(version == 1 ? kOldCri : version == 2 ? kCri : kNewCri)};
}

TomlPath Below(const TomlPath& path, std::initializer_list<std::string> more) {
  TomlPath whole = path;
  whole.insert(whole.end(), more);
  return whole;
}

bool IsEmpty(const TomlText& toml) { return toml.toml().statements().empty(); }

base::Error WrongFile(std::string message, const std::string& file, std::string hint) {
  return base::Error(base::ErrorCode::kInvalid, std::move(message))
      .Within(file)
      .WithHint(std::move(hint));
}

base::Result<ContainerdSource> ReadContainerdSource(std::string text, const std::string& file) {
  TRY(toml, TomlText::Parse(std::move(text), file));
  TRY_VOID(CheckTables(toml, file));
  const Node* version = toml.Find({"version"});
  if (version == nullptr) return WithoutVersion(std::move(toml), file);
  const std::optional<std::uint64_t> number =
      version->quoted ? std::nullopt : base::ParseUnsigned(version->text);
  if (!version->IsScalar() || !number || *number > 1000)
    return WrongFile(fmt::format("version {} is no version of containerd's", Describe(*version)),
                     file, "2 and 3 are usual");
  // containerd takes 0 for 1.
  return ContainerdSource{std::move(toml), std::max(1, static_cast<int>(*number)), false};
}

void CollectSettings(const Node& node, const TomlPath& path, std::vector<Setting>& settings) {
  for (const Node::Entry& entry : node.entries) {
    if (!entry.value.IsMap())
      settings.push_back({Below(path, {entry.key.text}), config::TomlValue(entry.value)});
  }
  for (const Node::Entry& entry : node.entries) {
    if (entry.value.IsMap()) CollectSettings(entry.value, Below(path, {entry.key.text}), settings);
  }
}

std::string TomlQuotedText(std::string_view text) {
  Node node;
  node.kind = config::NodeKind::kScalar;
  node.quoted = true;
  node.text = text;
  return config::TomlValue(node);
}

base::Result<void> SetIfOther(TomlText& toml, const TomlPath& path, const std::string& value) {
  const Node* there = toml.Find(path);
  if (there != nullptr && !there->IsMap() && config::TomlValue(*there) == value) return {};
  return toml.Set(path, value);
}

base::Result<Node> ModelRuntime(const TomlText& toml,
                                int version,
                                const std::vector<KeptKey>& ours) {
  TomlKeys before(toml);
  TRY_VOID(PutBack(before, ours));
  const Node* model = Model(before.toml(), CriOf(version));
  return model == nullptr ? Node{} : *model;
}

base::Result<void> AddRuntime(TomlText& toml,
                              int version,
                              const ConfigureOrder& order,
                              const Node& model) {
  const TomlPath cri = CriOf(version);
  const TomlPath runtime = Below(cri, {"containerd", "runtimes", order.runtime_name});
  const bool lacks_runc = LacksRunc(toml, version, order.runtime_name);
  for (const Setting& setting : RuntimeSettings(model, version, order.runtime_path)) {
    TomlPath path = runtime;
    path.insert(path.end(), setting.path.begin(), setting.path.end());
    TRY_VOID(SetIfOther(toml, path, setting.value));
  }
  if (lacks_runc) TRY_VOID(toml.Set(RuncType(version), TomlQuotedText(kDefaultType)));
  const TomlPath chosen = Below(cri, {"containerd", "default_runtime_name"});
  if (order.set_as_default) TRY_VOID(SetIfOther(toml, chosen, TomlQuotedText(order.runtime_name)));
  if (order.enable_cdi) TRY_VOID(SetIfOther(toml, Below(cri, {"enable_cdi"}), "true"));
  return {};
}

std::vector<TomlPath> OurEntries(const TomlText& before, int version, const std::string& name) {
  const TomlPath cri = CriOf(version);
  std::vector<TomlPath> ours = {Below(cri, {"containerd", "runtimes", name}),
                                Below(cri, {"containerd", "default_runtime_name"}),
                                Below(cri, {"enable_cdi"})};
  if (LacksRunc(before, version, name)) ours.push_back(RuncType(version));
  return ours;
}

std::vector<KeptKey> RuntimeKeys(const TomlText& before,
                                 const TomlText& after,
                                 int version,
                                 const std::string& name) {
  const TomlPath cri = CriOf(version);
  const TomlPath runtimes = Below(cri, {"containerd", "runtimes"});
  const TomlPath entry = Below(runtimes, {name});
  std::vector<KeptKey> keys;
  if (before.Find(entry) == nullptr) {
    keys.push_back({.path = entry, .mark = {"options", "BinaryName"}});
  } else if (const Node* runtime = after.Find(entry)) {
    std::vector<Setting> settings;
    CollectSettings(*runtime, entry, settings);
    for (const Setting& setting : settings) keys.push_back({.path = setting.path});
  }
  if (LacksRunc(before, version, name))
    keys.push_back({.path = Below(runtimes, {kRunc}), .mark = {"runtime_type"}});
  keys.push_back({.path = Below(cri, {"containerd", "default_runtime_name"})});
  keys.push_back({.path = Below(cri, {"enable_cdi"})});
  return keys;
}

base::Result<void> CheckOnlyOurs(const TomlText& before,
                                 const TomlText& after,
                                 const std::vector<TomlPath>& ours,
                                 const std::string& file) {
  if (TomlMeaning(before.root(), ours) == TomlMeaning(after.root(), ours)) return {};
  return base::Error(base::ErrorCode::kInternal, "the edit would change more than was asked for")
      .Within(file);
}

}  // namespace partita::service::toolkit
