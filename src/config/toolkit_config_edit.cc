#include "config/toolkit_config_edit.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "config/toolkit_config.h"

namespace partita::config {
namespace {

using base::ErrorCode;
using base::MakeError;
using base::Result;
using Config = ToolkitConfig;

// Of texts that are empty by default: what somebody might want to write there.
struct Example {
  std::string_view key, value;
};
constexpr Example kExamples[] = {
    {"swarm-resource", "DOCKER_RESOURCE_GPU"},
    {"nvidia-container-cli.root", "/run/nvidia/driver"},
    {"nvidia-container-cli.path", "/usr/bin/nvidia-container-cli"},
    {"nvidia-container-cli.debug", "/var/log/nvidia-container-toolkit.log"},
    {"nvidia-container-cli.ldcache", "/etc/ld.so.cache"},
    {"nvidia-container-cli.user", "root:video"},
    {"nvidia-container-runtime.modes.csv.compat-container-root", "/usr/local/cuda/compat_orin"},
};

std::string ExampleOf(std::string_view key) {
  for (const Example& each : kExamples) {
    if (each.key == key) return std::string(each.value);
  }
  return "";
}

std::string QuotedText(std::string_view text) {
  std::string out = "\"";
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\')
      out += fmt::format("\\{}", each);
    else if (code < 0x20 || code == 0x7f)
      out += fmt::format("\\u{:04X}", code);
    else
      out += each;
  }
  return out + "\"";
}

std::string TomlList(const std::vector<std::string>& items) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const std::string& item : items) texts.push_back(QuotedText(item));
  return "[" + base::Join(texts, ", ") + "]";
}

// The value of a key as TOML; where it has none, an example behind "#".
struct Line {
  const ToolkitKey& row;
  const Config& config;

  std::string operator()(bool Config::*member) const {
    return Of(config.*member ? "true" : "false");
  }
  std::string operator()(std::optional<bool> Config::*) const { return "#" + Of("false"); }
  std::string operator()(std::string Config::*member) const {
    const std::string& text = config.*member;
    return text.empty() ? "#" + Of(QuotedText(ExampleOf(row.key))) : Of(QuotedText(text));
  }
  std::string operator()(std::vector<std::string> Config::*member) const {
    return Of(TomlList(config.*member));
  }
  [[nodiscard]] std::string Of(const std::string& value) const {
    return fmt::format("{} = {}\n", row.key.substr(row.key.rfind('.') + 1), value);
  }
};

Result<std::string> SwitchOf(const std::string& value) {
  const std::string lower = base::ToLower(value);
  for (const char* yes : {"", "true", "t", "1"}) {
    if (lower == yes) return std::string("true");
  }
  for (const char* no : {"false", "f", "0"}) {
    if (lower == no) return std::string("false");
  }
  return MakeError(ErrorCode::kInvalid, "expected true or false, not {}", base::Quoted(value));
}

// What a value means for a key of its kind, as TOML; nothing: the key goes.
struct ValueOf {
  const std::optional<std::string>& value;  // absent: the key alone was given
  using Written = Result<std::optional<std::string>>;

  Written operator()(bool Config::*) const {
    TRY(text, SwitchOf(value.value_or("true")));
    return std::optional(text);
  }
  Written operator()(std::optional<bool> Config::*) const {
    if (value == "nil") return std::optional<std::string>();
    TRY(text, SwitchOf(value.value_or("true")));
    return std::optional(text);
  }
  Written operator()(std::string Config::*) const {
    if (!value) return NoValue();
    return std::optional(QuotedText(*value));
  }
  Written operator()(std::vector<std::string> Config::*) const {
    if (!value) return NoValue();
    std::vector<std::string> items;
    const char between = value->find(':') != std::string::npos ? ':' : ',';
    for (const std::string_view item : base::Split(*value, between)) {
      if (!base::Trim(item).empty()) items.emplace_back(base::Trim(item));
    }
    return std::optional(TomlList(items));
  }
  static base::Error NoValue() {
    return base::Error(ErrorCode::kInvalid, "it needs a value").WithHint("write key=value");
  }
};

Result<const ToolkitKey*> KnownKey(const std::string& key) {
  std::vector<std::string> known;
  for (const ToolkitKey& row : ToolkitKeys()) {
    if (row.key == key) return &row;
    known.emplace_back(row.key);
  }
  const std::string near = base::DidYouMean(key, known);
  return MakeError(ErrorCode::kInvalid, "there is no key {}", base::Quoted(key))
      .WithHint(near.empty() ? "nvidia-ctk config default shows all of them"
                             : fmt::format("did you mean {}?", near));
}

}  // namespace

std::string DefaultToolkitConfig() {
  const Config defaults;
  std::string text;
  std::string_view table;
  for (const ToolkitKey& row : ToolkitKeys()) {
    const std::size_t dot = row.key.rfind('.');
    const std::string_view its = dot == std::string_view::npos ? "" : row.key.substr(0, dot);
    if (its != table) text += fmt::format("\n[{}]\n", its);
    table = its;
    text += std::visit(Line{row, defaults}, row.member);
  }
  return text;
}

Result<void> SetToolkitKey(TomlText& file, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string key(base::Trim(assignment.substr(0, equals)));
  std::optional<std::string> value;
  if (equals != std::string_view::npos) value = std::string(assignment.substr(equals + 1));
  TRY(row, KnownKey(key));
  TRY(written, std::visit(ValueOf{value}, row->member), "{}", key);
  TomlPath path;
  for (const std::string_view part : base::Split(key, '.')) path.emplace_back(part);
  if (!written) return file.Remove(path);
  return file.Set(path, *written);
}

}  // namespace partita::config
