#include "base/output_format.h"

#include "base/text.h"

namespace partita::base {

const std::vector<std::string>& OutputFormatNames() {
  static const std::vector<std::string> names = {"text", "json", "yaml"};
  return names;
}

Result<OutputFormat> ParseOutputFormat(std::string_view text) {
  if (text == "text") return OutputFormat::kText;
  if (text == "json") return OutputFormat::kJson;
  if (text == "yaml") return OutputFormat::kYaml;
  const std::string near = DidYouMean(text, OutputFormatNames());
  return MakeError(ErrorCode::kInvalid, "unknown output format {}: use text, json or yaml",
                   Quoted(text))
      .WithHint(near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
}

}  // namespace partita::base
