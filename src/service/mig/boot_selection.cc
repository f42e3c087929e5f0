#include "service/mig/boot_selection.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/files.h"
#include "base/result.h"
#include "base/state_file.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace partita::service::mig {

namespace {

using base::Result;

constexpr std::string_view kDropIn =
    "/etc/systemd/system/nvidia-mig-manager.service.d/override.conf";
constexpr std::string_view kFile = "MIG_PARTED_CONFIG_FILE";
constexpr std::string_view kHooks = "MIG_PARTED_HOOKS_FILE";
constexpr std::string_view kConfig = "MIG_PARTED_SELECTED_CONFIG";

// The variable whose name the Kubernetes agent of the reference has for the same file.
std::string DropInPath() {
  const char* path = std::getenv("HOST_MIG_MANAGER_STATE_FILE");
  return path == nullptr || *path == '\0' ? std::string(kDropIn) : path;
}

using Variables = std::vector<std::pair<std::string_view, std::string_view>>;

// What is set anew. A file that is not named now stays as it is.
Variables VariablesOf(const BootSelection& selection) {
  Variables variables;
  if (!selection.config_file.empty()) variables.emplace_back(kFile, selection.config_file);
  if (!selection.hooks_file.empty()) variables.emplace_back(kHooks, selection.hooks_file);
  variables.emplace_back(kConfig, selection.config);
  return variables;
}

// Sets one of them alone. One line may set several variables; then it stays, and our later line
// wins.
bool SetsOnlyOne(std::string_view line, const Variables& variables) {
  std::string_view text = base::Trim(line);
  if (!text.starts_with("Environment=")) return false;
  text.remove_prefix(std::string_view("Environment=").size());
  const bool quoted =
      text.size() > 1 && text.front() == '"' && text.find('"', 1) + 1 == text.size();
  if (quoted) text = text.substr(1, text.size() - 2);
  if (!quoted && text.find(' ') != std::string_view::npos) return false;
  for (const auto& [name, value] : variables) {
    if (text.starts_with(fmt::format("{}=", name))) return true;
  }
  return false;
}

// As systemd reads it: in quotes, with its specifiers and whatever could end the line escaped.
std::string Assignment(std::string_view name, std::string_view value) {
  std::string text;
  while (!value.empty()) {
    const base::Character next = base::DecodeCharacter(value);
    const std::string_view bytes = value.substr(0, next.bytes);
    value.remove_prefix(next.bytes);
    if (base::IsUnprintable(next.code)) {
      for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      continue;
    }
    if (bytes == "\"" || bytes == "\\") text += '\\';
    if (bytes == "%") text += '%';
    text += bytes;
  }
  return fmt::format("Environment=\"{}={}\"\n", name, text);
}

std::string Absolute(const std::string& path) {
  std::error_code error;
  // "..", after a link, is not the folder that stands before it.
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return path.empty() || error ? path : absolute.string();
}

struct Unseen {
  const char* directory;
  const char* why;
};
// ProtectHome= of the boot unit closes the first three (systemd.exec(5)); the others are made anew
// with each boot.
constexpr std::array<Unseen, 8> kUnseen = {{{"/home", "the boot unit sees no home directories"},
                                            {"/root", "the boot unit sees no home directories"},
                                            {"/run/user", "the boot unit sees no home directories"},
                                            {"/tmp", "it does not outlive a boot"},
                                            {"/run", "it does not outlive a boot"},
                                            {"/dev", "it does not outlive a boot"},
                                            {"/proc", "it does not outlive a boot"},
                                            {"/sys", "it does not outlive a boot"}}};

// Where links lead: /home itself is one on some systems.
std::string Canonical(const std::string& path) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

// Why the next boot cannot read the file; nothing when it can. It is selected by this name, so that
// neither the name nor what it leads to may lie where a boot sees nothing.
const char* WhyUnseen(const std::string& path) {
  for (const std::string& name : {path, Canonical(path)}) {
    for (const Unseen& unseen : kUnseen) {
      const bool below = name.starts_with(fmt::format("{}/", unseen.directory)) ||
                         name.starts_with(Canonical(unseen.directory) + "/");
      if (below) return unseen.why;
    }
  }
  return nullptr;
}

// Without what the next boot could not read, with a word about it.
BootSelection Seen(BootSelection selection, std::vector<std::string>& warnings) {
  const char* why = selection.config_file.empty() ? nullptr : WhyUnseen(selection.config_file);
  if (why != nullptr) {
    warnings.push_back(
        fmt::format("{} is not selected for the next boot: {}; what was applied now comes back "
                    "from {}/mig.json. Move it to /etc to have it selected by name",
                    selection.config_file, why, base::StateDirectory()));
    selection.config_file.clear();
    selection.config.clear();
  }
  why = selection.hooks_file.empty() ? nullptr : WhyUnseen(selection.hooks_file);
  if (why != nullptr) {
    warnings.push_back(
        fmt::format("the hooks of {} do not run at the next boot: {}. Move it to /etc",
                    selection.hooks_file, why));
    selection.hooks_file.clear();
  }
  return selection;
}

Result<void> Keep(const BootSelection& wanted, std::vector<std::string>& warnings) {
  const std::string path = DropInPath();
  if (!base::Exists(path)) return {};
  const BootSelection selection = Seen(wanted, warnings);
  TRY(before, base::ReadFile(path));
  const std::string after = WithSelection(before, selection);
  if (after == before) return {};
  TRY_VOID(base::WriteFileAtomically(path, after, 0644));
  // Without systemd there is nobody who would have to hear of it.
  if (!base::Exists("/run/systemd/system")) return {};
  base::Subprocess reload;
  reload.arguments = {"systemctl", "daemon-reload"};
  reload.limit = std::chrono::seconds(30);
  TRY(result, base::Run(reload));
  if (result.Succeeded()) return {};
  return base::MakeError(base::ErrorCode::kIo, "systemctl daemon-reload {}", result.Describe());
}

}  // namespace

std::string WithSelection(std::string_view drop_in, const BootSelection& selection) {
  const Variables variables = VariablesOf(selection);
  std::string text, section;
  bool goes_on = false;  // the line before ended with a backslash
  for (const std::string_view line : base::SplitLines(drop_in)) {
    const bool continued = std::exchange(goes_on, line.ends_with('\\'));
    if (!continued && !goes_on && SetsOnlyOne(line, variables)) continue;
    if (const std::string_view trimmed = base::Trim(line); trimmed.starts_with('[')) {
      section = trimmed;
    }
    text += fmt::format("{}\n", line);
  }
  if (goes_on) text += '\n';
  if (section != "[Service]") text += "[Service]\n";
  for (const auto& [name, value] : variables) text += Assignment(name, value);
  return text;
}

Result<void> CheckSelectable(const std::string& path) {
  if (!base::HasUnprintable(path)) return {};
  return base::MakeError(base::ErrorCode::kInvalid, "the path {} holds a control character",
                         base::Quoted(path))
      .WithHint("it would stand in the boot unit's drop-in: name the file otherwise");
}

std::vector<std::string> KeepSelection(BootSelection selection) {
  // Standard input cannot be read again at boot.
  if (selection.config_file == "-") selection = {};
  selection.config_file = Absolute(selection.config_file);
  selection.hooks_file = Absolute(selection.hooks_file);
  std::vector<std::string> warnings;
  if (const Result<void> kept = Keep(selection, warnings); !kept.ok()) {
    warnings.push_back("the next boot may select something else: " + kept.error().ToString());
  }
  return warnings;
}

}  // namespace partita::service::mig
