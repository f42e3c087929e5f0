#include "config/hooks_file.h"

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/problems.h"
#include "config/version.h"

namespace partita::config {
namespace {

const std::array<std::string, 2> kHooksFileKeys = {"version", "hooks"};
const std::array<std::string, 5> kCommandKeys = {"command", "args", "envs", "workdir", "timeout"};
// A day: longer than anybody waits, and short enough to count in any unit.
constexpr UnsignedRange kTimeouts{1, 86'400};

// The value of a key that may be absent or empty.
const Node* Given(const Node& map, std::string_view key) {
  const Node* node = map.Find(key);
  return node == nullptr || node->IsNull() ? nullptr : node;
}

void ReadEnvironment(const Node& node, Problems& problems, HookCommand& hook) {
  if (!ExpectMap(node, problems, "variables and their values")) return;
  for (const Node::Entry& entry : node.entries) {
    const std::string& name = entry.key.text;
    if (name.empty() || name.find('=') != std::string::npos)
      problems.Add(entry.key, fmt::format("{} is no name of a variable", base::Quoted(name)));
    // A variable may be empty.
    if (entry.value.IsNull())
      hook.envs.emplace(name, "");
    else if (const auto value = ReadString(entry.value, problems))
      hook.envs.emplace(name, *value);
  }
}

HookCommand ReadCommand(const Node& node, Problems& problems) {
  HookCommand hook;
  if (!ExpectMap(node, problems, "a hook's entry")) return hook;
  RejectUnknownKeys(node, kCommandKeys, problems);
  if (const Node* command = Require(node, "command", problems)) {
    hook.command = ReadString(*command, problems).value_or("");
    if (command->quoted && hook.command.empty())
      problems.Add(*command, "the command is empty", "give the path of a program");
  }
  if (const Node* args = Given(node, "args");
      args && ExpectList(*args, problems, "a list of arguments"))
    hook.args = ReadStrings(*args, problems);
  if (const Node* envs = Given(node, "envs")) ReadEnvironment(*envs, problems, hook);
  if (const Node* workdir = Given(node, "workdir"))
    hook.workdir = ReadString(*workdir, problems).value_or("");
  if (const Node* timeout = Given(node, "timeout")) {
    if (const auto seconds = ReadUnsigned(*timeout, problems, kTimeouts))
      hook.timeout = std::chrono::seconds(*seconds);
  }
  return hook;
}

std::vector<HookCommand> ReadPoint(const Node::Entry& point, Problems& problems) {
  std::vector<HookCommand> commands;
  const std::string name = base::Quoted(point.key.text);
  if (!ExpectList(point.value, problems, fmt::format("the entries of {}", name))) return commands;
  if (point.value.items.empty())
    problems.Add(point.key, fmt::format("hook {} is empty", name), "it needs at least one entry");
  for (const Node& item : point.value.items) commands.push_back(ReadCommand(item, problems));
  return commands;
}

}  // namespace

base::Result<HooksFile> HooksFile::Read(const Document& document) {
  HooksFile file;
  const Node& root = document.root();
  if (root.IsNull()) return file;
  Problems problems(document);
  if (ExpectMap(root, problems, "the hooks file")) {
    RejectUnknownKeys(root, kHooksFileKeys, problems);
    RequireVersion(root, "v1", problems);
    if (const Node* hooks = root.Find("hooks"); hooks && ExpectMap(*hooks, problems, "hooks")) {
      for (const Node::Entry& point : hooks->entries)
        file.hooks_.emplace(point.key.text, ReadPoint(point, problems));
    }
  }
  TRY_VOID(problems.ToResult());
  return file;
}

base::Result<HooksFile> HooksFile::Parse(std::string text, std::string file_name) {
  TRY(document, Document::Parse(std::move(text), std::move(file_name)));
  return Read(document);
}

base::Result<HooksFile> HooksFile::Load(const std::string& path) {
  TRY(document, Document::Load(path));
  return Read(document);
}

const std::vector<HookCommand>& HooksFile::At(std::string_view point) const {
  static const std::vector<HookCommand> none;
  const auto found = hooks_.find(point);
  return found == hooks_.end() ? none : found->second;
}

}  // namespace partita::config
