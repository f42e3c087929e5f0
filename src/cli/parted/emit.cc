#include "cli/parted/emit.h"

#include <cstdio>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "cli/parted/node.h"
#include "cli/parted/outcome.h"
#include "service/mig/generated_config.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Result;

// To the byte as the reference writes it, since its output is compared and kept in files.
std::string ConfigText(const base::Value& config, std::string_view format) {
  if (format == "yaml") return service::mig::ConfigYaml(config);
  std::string json = base::ToJson(config);
  if (json.ends_with('\n')) json.pop_back();
  return json;
}

Result<EmitOptions> ReadEmitOptions(const Invocation& invocation) {
  const auto text = [&](const char* option) { return invocation.Get(option).value_or(""); };
  EmitOptions options{text("output-format"), text("output-file"), text("config-label")};
  if (options.format == "yaml" || options.format == "json") return options;
  return WrongUsage(invocation, fmt::format("unrecognized 'output-format': {}", options.format));
}

}  // namespace

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

base::Option FormatFlag() {
  return {.name = "output-format",
          .letter = 'o',
          .value_name = "FORMAT",
          .help = "yaml or json",
          .environment = "MIG_PARTED_OUTPUT_FORMAT",
          .default_value = "yaml"};
}

}  // namespace partita::cli::parted
