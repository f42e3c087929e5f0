#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"
#include "cli/runtime/commands.h"
#include "config/toolkit_config.h"
#include "config/toolkit_config_edit.h"

namespace partita::cli {
namespace {

using base::ErrorCode;
using base::Invocation;
using base::Result;

struct ConfigWish {
  std::string from;
  bool named = false;             // by the user: the file is meant to be there
  std::optional<std::string> to;  // absent: standard output
  std::vector<std::string> assignments;
  bool defaults = false;
};

Result<ConfigWish> ReadConfigWish(const Invocation& invocation) {
  ConfigWish wish;
  wish.from = invocation.Get("config").value_or(config::ToolkitConfigPath(base::ReadVariable));
  wish.named = invocation.Has("config");
  wish.assignments = invocation.GetAll("set");
  wish.defaults = invocation.Has("default");
  if (!invocation.arguments().empty()) wish.to = invocation.arguments().front();
  if (!invocation.Has("in-place")) return wish;
  if (wish.to || wish.defaults)
    return base::Error(ErrorCode::kInvalid, "--in-place writes to the file that was read")
        .WithHint(wish.defaults ? "name the file that the defaults go to" : "leave FILE out");
  wish.to = wish.from;
  return wish;
}

// The file as it is, else the defaults; then what is set, and the whole looked at once more.
Result<std::string> MakeText(const ConfigWish& wish) {
  std::string text = config::DefaultToolkitConfig();
  if (!wish.defaults) {
    Result<std::string> read = base::ReadRegularFile(wish.from, config::Document::kMaxBytes);
    if (!read.ok() && read.error().code() != ErrorCode::kNotFound) return read;
    if (!read.ok() && wish.named) Warn(wish.from + " is not there: this is of the defaults");
    if (read.ok()) text = *std::move(read);
  }
  TRY(file, config::TomlText::Parse(std::move(text), wish.from));
  for (const std::string& each : wish.assignments)
    TRY_VOID(config::SetToolkitKey(file, each), "--set");
  std::vector<std::string> warnings;
  const Result<config::ToolkitConfig> checked =
      config::ReadToolkitConfig(file.text(), wish.from, &warnings);
  if (!checked.ok()) return checked.error();
  for (const std::string& warning : warnings) Warn(warning);
  return file.text();
}

Result<void> Write(const std::string& path, const std::string& text) {
  const Result<std::string> before = base::ReadFile(path, config::Document::kMaxBytes);
  if (before.ok() && *before == text) return {};
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0)
    TRY_VOID(base::MakeDirectories(path.substr(0, slash), 0755));
  return base::WriteFileAtomically(path, text, 0644);
}

}  // namespace

int RunRuntimeConfig(const Invocation& invocation) {
  const Result<ConfigWish> wish = ReadConfigWish(invocation);
  if (!wish.ok()) return ReportError(wish.error());
  const Result<std::string> text = MakeText(*wish);
  if (!text.ok()) return ReportError(text.error());
  if (!wish->to) {
    std::fwrite(text->data(), 1, text->size(), stdout);
    return kExitDone;
  }
  const Result<void> written = Write(*wish->to, *text);
  return written.ok() ? kExitDone : ReportError(written.error());
}

base::Command RuntimeConfigCommand() {
  std::vector<std::string> keys;
  for (const config::ToolkitKey& row : config::ToolkitKeys()) keys.emplace_back(row.key);
  return {
      .name = "config",
      .summary = "Show and change config.toml of nvidia-container-runtime",
      .description =
          "Prints the file, or the defaults where there is none, with the keys that are set. The "
          "file is NVIDIA_CTK_CONFIG_FILE_PATH, else nvidia-container-runtime/config.toml in "
          "XDG_CONFIG_HOME, else in /etc. Every other key keeps its bytes, with its comments and "
          "also where it is not known. A file that the runtime would refuse is not written.",
      .options = {{.name = "config",
                   .value_name = "FILE",
                   .help = "the file to read, where it is not in its usual place"},
                  {.name = "set",
                   .value_name = "KEY=VALUE",
                   .help = "set a key: true or false, which is true where it is left out; a text; "
                           "a list with : or , between its items; nil takes a feature away",
                   .suggestions = std::move(keys),
                   .repeatable = true},
                  {.name = "in-place", .help = "write to the file that was read"},
                  {.name = "default", .help = "from the defaults, whatever the file has"}},
      .arguments = {{.name = "FILE", .help = "write to this file", .required = false}},
      .examples = {{"partita runtime config", "as it is in force"},
                   {"partita runtime config --default", "every key, with its default"},
                   {"partita runtime config --in-place --set nvidia-container-runtime.mode=cdi",
                    "devices by CDI alone"},
                   {"partita runtime config --in-place --set features.restrict-proc=nil",
                    "as if it had never been set"}},
      .run = RunRuntimeConfig};
}

}  // namespace partita::cli
