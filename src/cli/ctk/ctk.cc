#include "cli/ctk/ctk.h"

#include <cstdio>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/environment.h"
#include "cli/commands.h"
#include "cli/ctk/translate.h"
#include "cli/report_error.h"
#include "config/toolkit_config.h"

namespace partita::cli {
namespace {

base::Result<std::string> DriverRoot(const std::string& config_file) {
  std::vector<std::string> warnings;
  const bool named = !config_file.empty();
  TRY(config,
      config::LoadToolkitConfig(named ? config_file : config::ToolkitConfigPath(base::ReadVariable),
                                named, &warnings));
  for (const std::string& warning : warnings) Warn(warning);
  return config.cli_root;
}

int PrintUsage(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) == 0) return 0;
  ReportError(base::ErrnoError("write to standard output"));
  return 1;
}

}  // namespace

int CtkMain(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const base::Result<Translated> translated = TranslateCtk(words, {base::ReadVariable, DriverRoot});
  if (!translated.ok()) {
    ReportError(translated.error());
    return 1;
  }
  if (!translated->usage.empty()) return PrintUsage(translated->usage);
  for (const std::string& warning : translated->warnings) Warn(warning);
  // partita's own variables are not this program's.
  for (const char* name : {"PARTITA_OUTPUT", "PARTITA_DRIVER_ROOT"}) unsetenv(name);
  std::vector<std::string> arguments = {"partita"};
  arguments.insert(arguments.end(), translated->arguments.begin(), translated->arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return base::Main(MakeProgram(), static_cast<int>(arguments.size()), pointers.data()) == 0 ? 0
                                                                                             : 1;
}

}  // namespace partita::cli
