#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "base/value.h"
#include "cli/parted/commands.h"
#include "cli/parted/flags.h"
#include "cli/parted/node.h"
#include "cli/parted/outcome.h"
#include "service/mig/generated_config.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Option;
using base::Result;

// To the byte as the reference writes it, since its output is compared and kept in files.
std::string ConfigText(const base::Value& config, std::string_view format) {
  if (format == "yaml") return service::mig::ConfigYaml(config);
  std::string json = base::ToJson(config);
  if (json.ends_with('\n')) json.pop_back();
  return json;
}

struct EmitOptions {
  std::string format;
  std::string path;   // "" and "-" are standard output
  std::string label;  // of what is exported
};

Result<EmitOptions> ReadEmitOptions(const Invocation& invocation) {
  const auto text = [&](const char* option) { return invocation.Get(option).value_or(""); };
  EmitOptions options{text("output-format"), text("output-file"), text("config-label")};
  if (options.format == "yaml" || options.format == "json") return options;
  return WrongUsage(invocation, fmt::format("unrecognized 'output-format': {}", options.format));
}

using MakeConfig = std::function<Result<base::Value>(const model::Inventory&, const EmitOptions&)>;

// Prints a configuration, or writes it where --output-file says.
Result<void> Emit(const Invocation& invocation, const MakeConfig& make) {
  TRY(options, ReadEmitOptions(invocation));
  TRY(node, ReadNode());
  TRY(config, make(node, options));
  const std::string text = ConfigText(config, options.format);
  if (options.path.empty() || options.path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  return base::WriteFileAtomically(options.path, text, 0644);
}

int RunExport(const Invocation& invocation) {
  const MakeConfig make = [](const model::Inventory& node, const EmitOptions& options) {
    return service::mig::ExportConfig(node, options.label);
  };
  return Finish(invocation, Emit(invocation, make), "");
}

int RunGenerate(const Invocation& invocation) {
  const MakeConfig make = [](const model::Inventory& node, const EmitOptions&) {
    return service::mig::GenerateConfig(node);
  };
  return Finish(invocation, Emit(invocation, make), "");
}

Option FormatFlag() {
  return {.name = "output-format",
          .letter = 'o',
          .value_name = "FORMAT",
          .help = "yaml or json",
          .environment = "MIG_PARTED_OUTPUT_FORMAT",
          .default_value = "yaml"};
}

}  // namespace

base::Command ExportCommand() {
  const Option label{.name = "config-label",
                     .letter = 'l',
                     .value_name = "NAME",
                     .help = "the label of the configuration",
                     .environment = "MIG_PARTED_CONFIG_LABEL",
                     .default_value = "current"};
  return {.name = "export",
          .summary = "Print the present MIG configuration",
          .options = {FormatFlag(), label},
          .run = RunExport};
}

base::Command GenerateConfigCommand() {
  return {.name = "generate-config",
          .summary = "Print every common configuration of these GPUs",
          .options = {FileFlag("output-file", "MIG_PARTED_OUTPUT_FILE", "instead of stdout"),
                      FormatFlag()},
          .run = RunGenerate};
}

}  // namespace partita::cli::parted
