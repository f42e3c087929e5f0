#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/toml_edit.h"
#include "service/toolkit/engine.h"
#include "service/toolkit/toml_meaning.h"

namespace partita::service::toolkit {
namespace {

using config::Node;
using config::TomlPath;
using config::TomlText;

constexpr std::string_view kDefaultType = "io.containerd.runc.v2";
constexpr const char* kRunc = "runc";

// The CRI plugin's table by version of the file.
constexpr std::string_view kOldCri = "cri", kCri = "io.containerd.grpc.v1.cri",
                           kNewCri = "io.containerd.cri.v1.runtime";

TomlPath CriOf(int version) {
  return {"plugins", std::string(version == 1 ? kOldCri : version == 2 ? kCri : kNewCri)};
}

TomlPath Below(const TomlPath& path, std::initializer_list<std::string> more) {
  TomlPath whole = path;
  whole.insert(whole.end(), more);
  return whole;
}

TomlPath RuncType(int version) {
  return Below(CriOf(version), {"containerd", "runtimes", kRunc, "runtime_type"});
}

bool IsEmpty(const TomlText& toml) { return toml.toml().statements().empty(); }

base::Error Wrong(std::string message, const std::string& file, std::string hint) {
  return base::Error(base::ErrorCode::kInvalid, std::move(message))
      .Within(file)
      .WithHint(std::move(hint));
}

struct Source {
  TomlText toml;
  int version = 2;
  bool add_version = false;  // the file lacks the line that it needs
};

// A file without a version is of version 1. containerd 2.4.2 obeys tables of version 2 in it all
// the same, and then drops those of version 1 without a word; containerd 1 ignores them
// (both: `containerd config dump`). With the line both read what is written.
base::Result<Source> WithoutVersion(TomlText toml, const std::string& file) {
  const bool older = toml.Find(CriOf(1)) != nullptr;
  const bool newer = toml.Find(CriOf(2)) != nullptr, newest = toml.Find(CriOf(3)) != nullptr;
  if (IsEmpty(toml)) return Source{std::move(toml), 2, true};
  if (!newer && !newest) return Source{std::move(toml), 1, false};
  if (older || (newer && newest)) {
    return Wrong("tables of two versions of the CRI plugin, and no version", file,
                 "containerd 1 and 2 read different ones: keep one of them, and write the version "
                 "at the top");
  }
  return Source{std::move(toml), newer ? 2 : 3, true};
}

// Where our entries go, everything that is there is a table.
base::Result<void> CheckTables(const TomlText& toml, const std::string& file) {
  for (const int version : {1, 2, 3}) {
    const TomlPath whole = Below(CriOf(version), {"containerd", "runtimes"});
    for (std::size_t parts = 1; parts <= whole.size(); ++parts) {
      const TomlPath path(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(parts));
      const Node* node = toml.Find(path);
      if (node != nullptr && !node->IsMap())
        return Wrong(config::TomlDotted(path) + " is no table", file,
                     "mend the file first; it was left as it is");
    }
  }
  return {};
}

base::Result<Source> ReadSource(std::string text, const std::string& file) {
  TRY(toml, TomlText::Parse(std::move(text), file));
  TRY_VOID(CheckTables(toml, file));
  const Node* version = toml.Find({"version"});
  if (version == nullptr) return WithoutVersion(std::move(toml), file);
  const std::optional<std::uint64_t> number =
      version->quoted ? std::nullopt : base::ParseUnsigned(version->text);
  if (!version->IsScalar() || !number || *number > 1000)
    return Wrong(fmt::format("version {} is no version of containerd's", Describe(*version)), file,
                 "2 and 3 are usual");
  // containerd takes 0 for 1.
  return Source{std::move(toml), std::max(1, static_cast<int>(*number)), false};
}

// A runtime's settings, one a row: {"options", "BinaryName"}, "\"/usr/bin/x\"".
struct Setting {
  TomlPath path;
  std::string value;
};

void Collect(const Node& node, const TomlPath& path, std::vector<Setting>& settings) {
  for (const Node::Entry& entry : node.entries) {
    if (!entry.value.IsMap())
      settings.push_back({Below(path, {entry.key.text}), config::TomlValue(entry.value)});
  }
  for (const Node::Entry& entry : node.entries) {
    if (entry.value.IsMap()) Collect(entry.value, Below(path, {entry.key.text}), settings);
  }
}

void Put(std::vector<Setting>& settings, const TomlPath& path, std::string value) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& each) { return each.path == path; });
  if (found != settings.end()) {
    found->value = std::move(value);
  } else {
    settings.push_back({path, std::move(value)});
  }
}

std::string Quoted(std::string_view text) {
  Node node;
  node.kind = config::NodeKind::kScalar;
  node.quoted = true;
  node.text = text;
  return config::TomlValue(node);
}

// The runtime whose settings ours begins with: cgroup drivers must agree, or pods are killed and
// started over and over.
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

std::vector<Setting> RuntimeSettings(const Node* model, int version, const std::string& path) {
  std::vector<Setting> settings;
  if (model != nullptr && model->IsMap()) {
    Collect(*model, {}, settings);
  } else {
    settings = {{{"runtime_type"}, Quoted(kDefaultType)},
                {{"runtime_root"}, "\"\""},
                {{"runtime_engine"}, "\"\""},
                {{"privileged_without_host_devices"}, "false"}};
  }
  const auto type = std::find_if(settings.begin(), settings.end(), [](const Setting& each) {
    return each.path == TomlPath{"runtime_type"};
  });
  if (type == settings.end()) {
    settings.insert(settings.begin(), {{"runtime_type"}, Quoted(kDefaultType)});
  } else if (type->value == "\"\"") {
    type->value = Quoted(kDefaultType);
  }
  Put(settings, {"options", "BinaryName"}, Quoted(path));
  if (version == 1) Put(settings, {"options", "Runtime"}, Quoted(path));
  return settings;
}

base::Result<void> SetIfOther(TomlText& toml, const TomlPath& path, const std::string& value) {
  const Node* there = toml.Find(path);
  if (there != nullptr && !there->IsMap() && config::TomlValue(*there) == value) return {};
  return toml.Set(path, value);
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

// The runtime, the default and CDI, in whichever file has the plugin's table.
base::Result<void> AddRuntime(TomlText& toml, int version, const ConfigureOrder& order) {
  const TomlPath cri = CriOf(version);
  const TomlPath runtime = Below(cri, {"containerd", "runtimes", order.runtime_name});
  const bool lacks_runc = LacksRunc(toml, version, order.runtime_name);
  for (const Setting& setting : RuntimeSettings(Model(toml, cri), version, order.runtime_path)) {
    TomlPath path = runtime;
    path.insert(path.end(), setting.path.begin(), setting.path.end());
    TRY_VOID(SetIfOther(toml, path, setting.value));
  }
  if (lacks_runc) TRY_VOID(toml.Set(RuncType(version), Quoted(kDefaultType)));
  const TomlPath chosen = Below(cri, {"containerd", "default_runtime_name"});
  if (order.set_as_default) {
    TRY_VOID(SetIfOther(toml, chosen, Quoted(order.runtime_name)));
  } else if (const Node* there = toml.Find(chosen);
             there != nullptr && there->text == order.runtime_name) {
    TRY_VOID(toml.Remove(chosen));
  }
  if (order.enable_cdi) TRY_VOID(SetIfOther(toml, Below(cri, {"enable_cdi"}), "true"));
  return {};
}

// Tables that hold nothing any more go too.
base::Result<void> RemoveEmpty(TomlText& toml, TomlPath path) {
  for (; !path.empty(); path.pop_back()) {
    const Node* node = toml.Find(path);
    if (node == nullptr) continue;
    if (!node->IsMap() || !node->entries.empty()) return {};
    TRY_VOID(toml.Remove(path));
  }
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

base::Result<void> CheckOnlyOurs(const TomlText& before,
                                 const TomlText& after,
                                 const std::vector<TomlPath>& ours,
                                 const std::string& file) {
  if (TomlMeaning(before.root(), ours) == TomlMeaning(after.root(), ours)) return {};
  return base::Error(base::ErrorCode::kInternal, "the edit would change more than was asked for")
      .Within(file);
}

void NoteDisabled(const TomlText& toml, const ConfigureOrder& order, EnginePlan& plan) {
  const Node* disabled = toml.Find({"disabled_plugins"});
  if (disabled == nullptr) return;
  for (const Node& each : disabled->items) {
    if (each.text != kOldCri && each.text != kCri && each.text != kNewCri) continue;
    plan.notes.push_back(fmt::format(
        "{} disables {}: no kubelet and no crictl reaches containerd's runtimes until it is taken "
        "out of disabled_plugins",
        order.config, base::Quoted(each.text)));
  }
}

void Note(std::vector<FileChange>& changes,
          const std::string& path,
          const std::optional<std::string>& before,
          std::optional<std::string> after) {
  if (before != after) changes.push_back({path, before, std::move(after)});
}

base::Result<EnginePlan> PlanInPlace(const Source& source,
                                     const std::optional<std::string>& text,
                                     const ConfigureOrder& order) {
  TomlText after = source.toml;
  TRY_VOID(AddRuntime(after, 1, order));
  const std::vector<TomlPath> ours = OurEntries(source.toml, 1, order.runtime_name);
  TRY_VOID(CheckOnlyOurs(source.toml, after, ours, order.config));
  EnginePlan plan;
  NoteDisabled(after, order, plan);
  if (order.set_as_default && after.Find(Below(CriOf(1), {"containerd", "default_runtime"}))) {
    plan.notes.push_back(
        fmt::format("{} has a table default_runtime, which containerd takes "
                    "instead of default_runtime_name: remove it",
                    order.config));
  }
  Note(plan.changes, order.config, text, after.text());
  return plan;
}

std::string DirectoryOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// What an entry of `imports` names, seen from the main file.
std::string Imported(const std::string& entry, const ConfigureOrder& order) {
  return entry.starts_with('/') ? entry : DirectoryOf(order.config) + "/" + entry;
}

std::string ImportOf(const ConfigureOrder& order) { return DirectoryOf(order.drop_in) + "/*.toml"; }

bool Imports(const TomlText& main, const ConfigureOrder& order) {
  const Node* imports = main.Find({"imports"});
  if (imports == nullptr) return false;
  return std::any_of(imports->items.begin(), imports->items.end(), [&](const Node& item) {
    const std::string path = Imported(item.text, order);
    return path == ImportOf(order) || path == order.drop_in;
  });
}

void NoteOtherImports(const TomlText& main, const ConfigureOrder& order, EnginePlan& plan) {
  const Node* imports = main.Find({"imports"});
  if (imports == nullptr || order.dump) return;
  for (const Node& item : imports->items) {
    const std::string path = Imported(item.text, order);
    if (path == ImportOf(order) || path == order.drop_in) continue;
    plan.notes.push_back(fmt::format(
        "{} imports {} too: containerd before 2.1 would no longer read a CRI table in there; "
        "--config-source command takes it along",
        order.config, item.text));
  }
}

void NoteDefault(const TomlText& main,
                 const TomlPath& cri,
                 const ConfigureOrder& order,
                 EnginePlan& plan) {
  const Node* chosen = main.Find(Below(cri, {"containerd", "default_runtime_name"}));
  if (order.set_as_default || chosen == nullptr || chosen->text != order.runtime_name) return;
  plan.notes.push_back(
      fmt::format("{} itself makes {} the default, and containerd 2.1 and later keeps to that",
                  order.config, order.runtime_name));
}

base::Result<TomlText> EditMain(const Source& source, const ConfigureOrder& order) {
  TomlText main = source.toml;
  if (source.add_version) TRY_VOID(main.Set({"version"}, fmt::format("{}", source.version)));
  if (const Node* imports = main.Find({"imports"}); imports != nullptr && !imports->IsList())
    return Wrong("imports is no list", order.config, "mend the file first");
  if (!Imports(main, order)) TRY_VOID(main.Append({"imports"}, Quoted(ImportOf(order))));
  TRY_VOID(CheckOnlyOurs(source.toml, main, {{"version"}, {"imports"}}, order.config));
  return main;
}

base::Result<TomlText> MakeDropIn(const Source& tables, const ConfigureOrder& order) {
  const TomlPath cri = CriOf(tables.version);
  const std::string copied = tables.toml.TextOf(cri);
  std::string text = fmt::format(
      "# Written by \"partita runtime configure\": the table of the CRI plugin as {} has it, and\n"
      "# the runtime {}. containerd before 2.1 takes the whole table from here: after a change\n"
      "# there, run it again.\nversion = {}\n",
      order.config, order.runtime_name, tables.version);
  if (!copied.empty() && !copied.starts_with('\n') && !copied.starts_with("\r\n")) text += '\n';
  TRY(drop_in, TomlText::Parse(text + copied, order.drop_in));
  TRY_VOID(AddRuntime(drop_in, tables.version, order));
  std::vector<TomlPath> besides = OurEntries(tables.toml, tables.version, order.runtime_name);
  besides.push_back({"version"});
  TomlText before = tables.toml;
  for (const Node::Entry& entry : tables.toml.root().entries) {
    if (entry.key.text != "plugins") besides.push_back({entry.key.text});
  }
  if (const Node* plugins = tables.toml.Find({"plugins"})) {
    for (const Node::Entry& entry : plugins->entries) {
      if (entry.key.text != cri[1]) besides.push_back({"plugins", entry.key.text});
    }
  }
  TRY_VOID(CheckOnlyOurs(before, drop_in, besides, order.drop_in));
  return drop_in;
}

base::Result<EnginePlan> PlanWithDropIn(const Source& source,
                                        const std::optional<std::string>& config,
                                        const std::optional<std::string>& drop_in,
                                        const ConfigureOrder& order) {
  if (!order.drop_in.starts_with('/'))
    return base::MakeError(base::ErrorCode::kInvalid, "{} is no path that begins with \"/\"",
                           base::Quoted(order.drop_in));
  EnginePlan plan;
  Source tables = source;
  if (order.dump) {
    TRY(dumped, ReadSource(*order.dump, "containerd config dump"));
    tables = std::move(dumped);
  }
  TRY(main, EditMain(source, order));
  TRY(added, MakeDropIn(tables, order));
  if (source.add_version && !IsEmpty(source.toml)) {
    plan.notes.push_back(fmt::format(
        "{} had tables of version {} and no version, for which containerd 1 ignores them: version "
        "= {} is added",
        order.config, source.version, source.version));
  }
  NoteDisabled(main, order, plan);
  NoteOtherImports(main, order, plan);
  NoteDefault(main, CriOf(source.version), order, plan);
  // The drop-in first: what imports it never finds half a set.
  Note(plan.changes, order.drop_in, drop_in, added.text());
  Note(plan.changes, order.config, config, main.text());
  return plan;
}

// Beside ours, or alone, it says no more than containerd's own default.
bool IsPlainRunc(const TomlText& toml) {
  const Node* runtimes = toml.Find(Below(CriOf(1), {"containerd", "runtimes"}));
  const Node* type = toml.Find(RuncType(1));
  return type != nullptr && type->text == kDefaultType && runtimes->entries.size() == 1 &&
         runtimes->entries[0].value.entries.size() == 1;
}

// Of version 1: our runtime, what it leaves empty, and the default if it is ours.
base::Result<std::string> WithoutRuntime(TomlText toml, const ConfigureOrder& order) {
  const TomlPath containerd = Below(CriOf(1), {"containerd"});
  const TomlPath runtimes = Below(containerd, {"runtimes"});
  const bool there = toml.Find(Below(runtimes, {order.runtime_name})) != nullptr;
  TRY_VOID(toml.Remove(Below(runtimes, {order.runtime_name})));
  if (there && IsPlainRunc(toml)) TRY_VOID(toml.Remove(Below(runtimes, {kRunc})));
  const TomlPath chosen = Below(containerd, {"default_runtime_name"});
  const Node* name = toml.Find(chosen);
  if (name != nullptr && name->text == order.runtime_name) TRY_VOID(toml.Remove(chosen));
  if (there) TRY_VOID(RemoveEmpty(toml, runtimes));
  return toml.text();
}

// `imports` and `version` go where nothing else is left: others may have come to rely on them.
base::Result<std::optional<std::string>> WithoutImport(TomlText toml, const ConfigureOrder& order) {
  const Node* imports = toml.Find({"imports"});
  const bool ours = imports != nullptr && imports->items.size() == 1 && Imports(toml, order);
  const bool only = std::all_of(toml.root().entries.begin(), toml.root().entries.end(),
                                [](const Node::Entry& entry) {
                                  return entry.key.text == "imports" || entry.key.text == "version";
                                });
  if (!ours || !only) return std::optional<std::string>(toml.text());
  TRY_VOID(toml.Remove({"imports"}));
  TRY_VOID(toml.Remove({"version"}));
  if (base::Trim(toml.text()).empty()) return std::optional<std::string>();
  return std::optional<std::string>(toml.text());
}

base::Result<EnginePlan> PlanRemoval(const Source& source,
                                     const std::optional<std::string>& config,
                                     const std::optional<std::string>& drop_in,
                                     const ConfigureOrder& order) {
  EnginePlan plan;
  if (!order.drop_in.empty()) Note(plan.changes, order.drop_in, drop_in, std::nullopt);
  if (!config) return plan;
  if (source.version == 1) {
    TRY(text, WithoutRuntime(source.toml, order));
    Note(plan.changes, order.config, config, std::move(text));
    return plan;
  }
  TRY(text, WithoutImport(source.toml, order));
  Note(plan.changes, order.config, config, std::move(text));
  return plan;
}

}  // namespace

std::vector<std::string> ContainerdImports(const std::string& config_toml,
                                           const ConfigureOrder& order) {
  std::vector<std::string> files;
  const base::Result<TomlText> toml = TomlText::Parse(config_toml, order.config);
  const Node* imports = toml.ok() ? toml->Find({"imports"}) : nullptr;
  if (imports == nullptr) return files;
  for (const Node& item : imports->items) {
    if (item.text.find_first_of("*?[") == std::string::npos)
      files.push_back(Imported(item.text, order));
  }
  return files;
}

base::Result<EnginePlan> PlanContainerd(const std::optional<std::string>& config_toml,
                                        const std::optional<std::string>& drop_in,
                                        const ConfigureOrder& order) {
  TRY_VOID(CheckOrder(order, false));
  TRY(source, ReadSource(config_toml.value_or(""), order.config));
  base::Result<EnginePlan> plan = order.undo ? PlanRemoval(source, config_toml, drop_in, order)
                                  : source.version == 1
                                      ? PlanInPlace(source, config_toml, order)
                                      : PlanWithDropIn(source, config_toml, drop_in, order);
  if (plan.ok() || plan.error().code() != base::ErrorCode::kConflict) return plan;
  return std::move(plan)
      .error()
      .Within(order.config)
      .As(base::ErrorCode::kInvalid)
      .WithHint("mend the file first; it was left as it is");
}

}  // namespace partita::service::toolkit
