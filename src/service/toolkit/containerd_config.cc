#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/text.h"
#include "config/toml/edit.h"
#include "service/toolkit/containerd_tables.h"
#include "service/toolkit/engine.h"
#include "service/toolkit/keyed_documents.h"
#include "service/toolkit/toml_meaning.h"

namespace partita::service::toolkit {
namespace {

using config::Node;
using config::TomlPath;
using config::TomlText;
using Source = ContainerdSource;

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

void Note(std::vector<FileChange>& changes, FileChange change) {
  if (change.before != change.after) changes.push_back(std::move(change));
}

base::Result<EnginePlan> PlanInPlace(const Source& source,
                                     const std::optional<std::string>& text,
                                     const ConfigureOrder& order,
                                     const FileMemory& memory) {
  TomlText after = source.toml;
  TRY(model, ModelRuntime(source.toml, 1, memory.keys));
  TRY_VOID(AddRuntime(after, 1, order, model));
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
  const std::vector<KeptKey> keys =
      KeepKeys(TomlKeys(source.toml), TomlKeys(after),
               RuntimeKeys(source.toml, after, 1, order.runtime_name), memory.keys);
  Note(plan.changes, {order.config, text, after.text(), {.keys = keys}});
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

struct Edited {
  TomlText toml;
  std::vector<KeptKey> keys;
  std::string copied{};
};

base::Result<Edited> EditMain(const Source& source,
                              const ConfigureOrder& order,
                              const FileMemory& memory) {
  TomlText main = source.toml;
  if (source.add_version) TRY_VOID(main.Set({"version"}, fmt::format("{}", source.version)));
  if (const Node* imports = main.Find({"imports"}); imports != nullptr && !imports->IsList())
    return WrongFile("imports is no list", order.config, "mend the file first");
  if (!Imports(main, order)) TRY_VOID(main.Append({"imports"}, TomlQuotedText(ImportOf(order))));
  TRY_VOID(CheckOnlyOurs(source.toml, main, {{"version"}, {"imports"}}, order.config));
  // A file that was empty may get tables of somebody's, which are read by the version.
  const std::vector<KeptKey> candidates = {
      {.path = {"version"}, .needed = IsEmpty(source.toml)},
      {.path = {"imports"}, .item = ImportOf(order)},
  };
  std::vector<KeptKey> keys =
      KeepKeys(TomlKeys(source.toml), TomlKeys(main), candidates, memory.keys);
  return Edited{std::move(main), std::move(keys)};
}

// What a plugin's table says; of none, what an empty one does.
std::string CopiedHash(const TomlText& toml, int version) {
  const Node* table = toml.Find(CriOf(version));
  return base::Sha256Hex(table == nullptr ? "" : TomlMeaning(*table, {}));
}

// Of the drop-in as it was: what earlier orders wrote and this one does not speak of.
base::Result<void> CarryOver(const std::string& drop_in,
                             const ConfigureOrder& order,
                             const std::vector<KeptKey>& keys,
                             TomlText& into) {
  TRY(toml, TomlText::Parse(drop_in, order.drop_in));
  const TomlKeys old(std::move(toml));
  for (const KeptKey& key : keys) {
    const Node* node = old.toml().Find(key.path);
    if (node == nullptr || !IsOurs(old, key) || key.path.back() == order.runtime_name) continue;
    std::vector<Setting> settings;
    if (node->IsMap()) {
      CollectSettings(*node, key.path, settings);
    } else {
      settings.push_back({key.path, config::TomlValue(*node)});
    }
    for (const Setting& setting : settings) TRY_VOID(SetIfOther(into, setting.path, setting.value));
  }
  return {};
}

std::string DropInHead(const Source& tables, const ConfigureOrder& order) {
  return fmt::format(
      "# Written by \"partita runtime configure\": the table of the CRI plugin as {} has it, and\n"
      "# the runtime {}. containerd before 2.1 takes the whole table from here: after a change\n"
      "# there, run it again.\nversion = {}\n",
      order.config, order.runtime_name, tables.version);
}

std::string WithTable(std::string text, const std::string& table) {
  if (!text.ends_with('\n') && !text.empty()) text += '\n';
  if (!table.empty() && !table.starts_with('\n') && !table.starts_with("\r\n")) text += '\n';
  return text + table;
}

// A file of ours as a whole; `old` is it as we left it.
base::Result<Edited> MakeDropIn(const Source& source,
                                const ConfigureOrder& order,
                                const std::optional<std::string>& old,
                                const FileMemory& memory) {
  const int version = source.version;
  // What containerd has in force has our own entries too, where it was asked.
  TomlKeys tables(source.toml);
  if (order.dump) TRY_VOID(PutBack(tables, memory.keys));
  const std::string copied = tables.toml().TextOf(CriOf(version));
  TRY(base, TomlText::Parse(WithTable(DropInHead(source, order), copied), order.drop_in));
  TRY(model, ModelRuntime(base, version, {}));
  TomlText after = base;
  if (old) TRY_VOID(CarryOver(*old, order, memory.keys, after));
  TRY_VOID(AddRuntime(after, version, order, model));
  std::vector<KeptKey> candidates = RuntimeKeys(base, after, version, order.runtime_name);
  std::vector<TomlPath> ours = OurEntries(base, version, order.runtime_name);
  for (const KeptKey& key : memory.keys) {
    ours.push_back(key.path);
    candidates.push_back({.path = key.path, .mark = key.mark});
  }
  TRY_VOID(CheckOnlyOurs(base, after, ours, order.drop_in));
  Edited edited = {after, KeepKeys(TomlKeys(base), TomlKeys(after), candidates, {}),
                   CopiedHash(base, version)};
  if (!old) return edited;
  // The same in another order is no change.
  TRY(before, TomlText::Parse(*old, order.drop_in));
  if (TomlMeaning(before.root(), {}) == TomlMeaning(after.root(), {})) edited.toml = before;
  return edited;
}

// The version whose tables a drop-in of somebody's has, or should get.
base::Result<int> DropInVersion(const TomlText& drop_in,
                                const Source& tables,
                                const ConfigureOrder& order) {
  if (drop_in.Find({"version"}) == nullptr) {
    if (drop_in.Find(CriOf(2)) != nullptr) return 2;
    return drop_in.Find(CriOf(3)) != nullptr ? 3 : tables.version;
  }
  TRY(own, ReadContainerdSource(drop_in.text(), order.drop_in));
  if (own.version == tables.version ||
      (own.version > 1 && drop_in.Find(CriOf(own.version)) != nullptr))
    return own.version;
  return base::MakeError(base::ErrorCode::kInvalid, "{} is of version {}, and what {} has of {}",
                         order.drop_in, own.version, order.config, tables.version)
      .WithHint("write both in one version, or name another file with --drop-in-config");
}

// A file that somebody else wrote, or changed.
base::Result<Edited> EditDropIn(const Source& tables,
                                const ConfigureOrder& order,
                                const std::string& text,
                                const FileMemory& memory) {
  TRY(before, TomlText::Parse(text, order.drop_in));
  TRY(version, DropInVersion(before, tables, order));
  TomlText base = before;
  std::string copied = memory.copied;
  if (before.Find(CriOf(version)) == nullptr) {
    // containerd before 2.1 takes the plugin's table from here, so it has to be all of it.
    TRY(with, TomlText::Parse(WithTable(text, tables.toml.TextOf(CriOf(version))), order.drop_in));
    base = std::move(with);
    copied = CopiedHash(base, version);
  }
  TRY(model, ModelRuntime(base, version, memory.keys));
  if (!model.IsMap()) {
    TRY(elsewhere, ModelRuntime(tables.toml, tables.version, {}));
    model = std::move(elsewhere);
  }
  TomlText after = base;
  if (after.Find({"version"}) == nullptr)
    TRY_VOID(after.Set({"version"}, fmt::format("{}", version)));
  TRY_VOID(AddRuntime(after, version, order, model));
  std::vector<TomlPath> ours = OurEntries(base, version, order.runtime_name);
  ours.push_back({"version"});
  TRY_VOID(CheckOnlyOurs(base, after, ours, order.drop_in));
  std::vector<KeptKey> candidates = RuntimeKeys(base, after, version, order.runtime_name);
  candidates.push_back({.path = {"version"}});
  return Edited{after, KeepKeys(TomlKeys(base), TomlKeys(after), candidates, memory.keys), copied};
}

struct Texts {
  const std::optional<std::string>& config;
  const std::optional<std::string>& drop_in;
};

base::Result<Source> DumpedSource(const std::string& dump) {
  TRY(source, ReadContainerdSource(dump, "containerd config dump"));
  if (source.toml.Find({"version"}) != nullptr) return source;
  return WrongFile("it says nothing of a version", "containerd config dump",
                   "is it containerd that --executable-path names?");
}

base::Result<EnginePlan> PlanWithDropIn(const Source& source,
                                        const Texts& texts,
                                        const ConfigureOrder& order,
                                        const EngineMemory& memory) {
  if (!order.drop_in.starts_with('/'))
    return base::MakeError(base::ErrorCode::kInvalid, "{} is no path that begins with \"/\"",
                           base::Quoted(order.drop_in));
  EnginePlan plan;
  Source tables = source;
  if (order.dump) {
    TRY(dumped, DumpedSource(*order.dump));
    tables = std::move(dumped);
  }
  TRY(main, EditMain(source, order, memory.config));
  const bool ours = !texts.drop_in || (memory.drop_in.created && memory.drop_in.untouched);
  TRY(added, ours ? MakeDropIn(tables, order, texts.drop_in, memory.drop_in)
                  : EditDropIn(tables, order, *texts.drop_in, memory.drop_in));
  if (source.add_version && !IsEmpty(source.toml)) {
    plan.notes.push_back(fmt::format(
        "{} had tables of version {} and no version, for which containerd 1 ignores them: version "
        "= {} is added",
        order.config, source.version, source.version));
  }
  NoteDisabled(main.toml, order, plan);
  NoteOtherImports(main.toml, order, plan);
  // The drop-in first: what imports it never finds half a set.
  Note(plan.changes, {order.drop_in,
                      texts.drop_in,
                      added.toml.text(),
                      {.keys = added.keys, .copied = added.copied}});
  Note(plan.changes, {order.config, texts.config, main.toml.text(), {.keys = main.keys}});
  return plan;
}

// The table that was copied goes where nobody changed it.
base::Result<TomlText> WithoutCopy(TomlText toml, const FileMemory& memory) {
  for (const int version : {2, 3}) {
    const TomlPath cri = CriOf(version);
    if (memory.copied.empty() || toml.Find(cri) == nullptr) continue;
    if (CopiedHash(toml, version) != memory.copied) continue;
    TRY_VOID(toml.Remove(cri));
    if (const Node* plugins = toml.Find({cri[0]}); plugins != nullptr && plugins->entries.empty())
      TRY_VOID(toml.Remove({cri[0]}));
  }
  return toml;
}

// Of a file that is not as we left it. A drop-in in which nothing is left but what we wrote above
// it goes as a whole, if we made it.
base::Result<void> TakeBackFile(const FileChange& file,
                                const FileMemory& memory,
                                bool is_drop_in,
                                EnginePlan& plan) {
  if (!file.before || !memory.written || memory.untouched) return {};
  TRY(toml, TomlText::Parse(*file.before, file.path));
  TomlKeys keys(std::move(toml));
  TRY(said, PutBack(keys, memory.keys));
  TRY(rest, WithoutCopy(keys.toml(), memory));
  const bool empty =
      is_drop_in ? !TomlKeys(rest).HasOtherThan("version") : base::Trim(rest.text()).empty();
  FileChange change = {file.path, file.before, rest.text()};
  if (memory.created && empty) change.after = std::nullopt;
  NoteTakenBack(change, said, plan);
  Note(plan.changes, std::move(change));
  return {};
}

base::Result<EnginePlan> PlanRemoval(const Source& source,
                                     const Texts& texts,
                                     const ConfigureOrder& order,
                                     const EngineMemory& memory) {
  EnginePlan plan;
  const TomlPath runtime = Below(CriOf(1), {"containerd", "runtimes", order.runtime_name});
  if (!memory.config.written && source.version == 1 && source.toml.Find(runtime) != nullptr)
    NoteNotOurs(order.config, plan);
  if (!memory.drop_in.written && texts.drop_in) NoteNotOurs(order.drop_in, plan);
  TRY_VOID(TakeBackFile({order.config, texts.config, {}}, memory.config, false, plan));
  TRY_VOID(TakeBackFile({order.drop_in, texts.drop_in, {}}, memory.drop_in, true, plan));
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
                                        const ConfigureOrder& order,
                                        const EngineMemory& memory) {
  TRY_VOID(CheckOrder(order, false));
  const Texts texts = {config_toml, drop_in};
  TRY(source, ReadContainerdSource(config_toml.value_or(""), order.config));
  base::Result<EnginePlan> plan = order.undo ? PlanRemoval(source, texts, order, memory)
                                  : source.version == 1
                                      ? PlanInPlace(source, config_toml, order, memory.config)
                                      : PlanWithDropIn(source, texts, order, memory);
  if (plan.ok() || plan.error().code() != base::ErrorCode::kConflict) return plan;
  return std::move(plan)
      .error()
      .Within(order.config)
      .As(base::ErrorCode::kInvalid)
      .WithHint("mend the file first; it was left as it is");
}

}  // namespace partita::service::toolkit
