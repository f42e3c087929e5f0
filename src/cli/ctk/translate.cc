#include "cli/ctk/translate.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::cli {
namespace {

using base::ErrorCode;
using base::MakeError;

enum class Use : std::uint8_t {
  kValue,
  kValues,
  kSwitch,
  kNoEffect,  // with a value; told
  kRefused,   // with a value
};
// A flag of the reference under one of its names, and what it is here.
struct FlagRow {
  std::string_view name;
  Use use;
  std::string_view ours;
  const char* variable = nullptr;
};
#define GENERATE(name) "NVIDIA_CTK_CDI_GENERATE_" name
constexpr FlagRow kGenerate[] = {
    {"output", Use::kValue, "FILE", "NVIDIA_CTK_CDI_OUTPUT_FILE_PATH"},
    {"format", Use::kValue, "output", GENERATE("OUTPUT_FORMAT")},
    {"mode", Use::kValue, "mode", GENERATE("MODE")},
    {"discovery-mode", Use::kValue, "mode"},
    {"device-name-strategy", Use::kValues, "device-name-strategy",
     GENERATE("DEVICE_NAME_STRATEGIES")},
    {"driver-root", Use::kValue, "driver-root", "NVIDIA_CTK_DRIVER_ROOT"},
    {"dev-root", Use::kValue, "dev-root", "NVIDIA_CTK_DEV_ROOT"},
    {"library-search-path", Use::kValues, "library-search-path", GENERATE("LIBRARY_SEARCH_PATHS")},
    {"config-search-path", Use::kValues, "config-search-path", GENERATE("CONFIG_SEARCH_PATHS")},
    {"nvidia-cdi-hook-path", Use::kValue, "hook-path", "NVIDIA_CTK_CDI_HOOK_PATH"},
    {"nvidia-ctk-path", Use::kValue, "hook-path"},
    {"ldconfig-path", Use::kValue, "ldconfig-path", GENERATE("LDCONFIG_PATH")},
    {"vendor", Use::kValue, "vendor", GENERATE("VENDOR")},
    {"cdi-vendor", Use::kValue, "vendor"},
    {"class", Use::kValue, "class", GENERATE("CLASS")},
    {"cdi-class", Use::kValue, "class"},
    {"disable-hook", Use::kValues, "disable-hook", GENERATE("DISABLED_HOOKS")},
    {"disable-hooks", Use::kValues, "disable-hook"},
    {"enable-hook", Use::kValues, "enable-hook", GENERATE("ENABLED_HOOKS")},
    {"enable-hooks", Use::kValues, "enable-hook"},
    {"feature-flag", Use::kValues, "feature-flag", GENERATE("FEATURE_FLAGS")},
    {"feature-flags", Use::kValues, "feature-flag"},
    {"no-all-device", Use::kSwitch, "no-all-device", GENERATE("NO_ALL_DEVICE")},
    {"device-id", Use::kValues, "device-id", GENERATE("DEVICE_IDS")},
    {"device-ids", Use::kValues, "device-id"},
    {"device", Use::kValues, "device-id"},
    {"devices", Use::kValues, "device-id"},
    {"csv.file", Use::kNoEffect, ""},
    {"csv.ignore-pattern", Use::kNoEffect, ""},
    {"csv.compat-container-root", Use::kNoEffect, ""},
};
#undef GENERATE
constexpr FlagRow kList[] = {{"spec-dir", Use::kValues, "spec-dir", "NVIDIA_CTK_CDI_SPEC_DIRS"}};
constexpr FlagRow kConfigure[] = {
    {"runtime", Use::kValue, "runtime"},
    {"config", Use::kValue, "config"},
    {"drop-in-config", Use::kValue, "drop-in-config"},
    {"config-source", Use::kValue, "config-source"},
    {"executable-path", Use::kValue, "executable-path"},
    {"config-mode", Use::kRefused, ""},
    {"oci-hook-path", Use::kRefused, ""},
    {"nvidia-runtime-name", Use::kValue, "runtime-name"},
    {"nvidia-runtime-path", Use::kValue, "runtime-path"},
    {"runtime-path", Use::kValue, "runtime-path"},
    {"nvidia-runtime-hook-path", Use::kNoEffect, ""},
    {"nvidia-set-as-default", Use::kSwitch, "set-as-default"},
    {"set-as-default", Use::kSwitch, "set-as-default"},
    {"cdi.enabled", Use::kSwitch, "enable-cdi"},
    {"cdi.enable", Use::kSwitch, "enable-cdi"},
    {"enable-cdi", Use::kSwitch, "enable-cdi"},
    {"dry-run", Use::kSwitch, "dry-run"},
};
// Before the command.
constexpr FlagRow kGlobal[] = {{"debug", Use::kSwitch, ""},
                               {"d", Use::kSwitch, ""},
                               {"quiet", Use::kSwitch, ""},
                               {"config", Use::kValue, "", "NVIDIA_CTK_CONFIG"}};

struct CommandRow {
  std::string_view group, verb;
  std::span<const FlagRow> flags;
};
constexpr CommandRow kCommands[] = {
    {"cdi", "generate", kGenerate}, {"cdi", "list", kList}, {"runtime", "configure", kConfigure}};
constexpr std::string_view kTheirs[] = {"cdi transform", "config", "info", "system"};

bool IsHelp(std::string_view word) { return word == "--help" || word == "-h" || word == "help"; }

class Translation {
 public:
  Translation(std::span<const std::string> words, const CtkEnvironment& environment)
      : words_(words), environment_(environment) {}

  base::Result<Translated> Run() {
    TRY_VOID(TakeFlags(kGlobal, true));
    if (Next() == "--version" || Next() == "-v") return Translated{{"version"}, {}};
    if (words_.empty() || IsHelp(Next())) return Translated{{"help"}, {}};
    TRY(command, TakeCommand());
    translated_.arguments = {std::string(command->group), std::string(command->verb)};
    if (!words_.empty() && IsHelp(Next())) {
      translated_.arguments.insert(translated_.arguments.begin(), "help");
      return translated_;
    }
    config_file_ = values_["config"].empty() ? "" : values_["config"].back();
    values_.clear();
    TRY_VOID(TakeFlags(command->flags, false));
    if (!words_.empty())
      return MakeError(ErrorCode::kInvalid, "unexpected word {}", base::Quoted(Next()));
    if (command->verb == "generate") TRY_VOID(FinishGenerate());
    for (const FlagRow& row : command->flags) Emit(row);
    return translated_;
  }

 private:
  [[nodiscard]] std::string_view Next() const {
    if (words_.empty()) return {};
    return words_.front();
  }

  base::Result<const CommandRow*> TakeCommand() {
    const std::string group(Next());
    words_ = words_.subspan(1);
    const std::string verb(Next());
    for (const CommandRow& row : kCommands) {
      if (row.group != group || row.verb != verb) continue;
      words_ = words_.subspan(1);
      return &row;
    }
    const std::string both = verb.empty() ? group : group + " " + verb;
    const bool theirs =
        std::any_of(std::begin(kTheirs), std::end(kTheirs),
                    [&](std::string_view name) { return name == group || name == both; });
    base::Error error =
        theirs ? MakeError(ErrorCode::kUnsupported, "nvidia-ctk {} is not here", both)
               : MakeError(ErrorCode::kInvalid, "there is no command {}", base::Quoted(both));
    return std::move(error).WithHint("cdi generate, cdi list, runtime configure and hook are");
  }

  // Until a word that is no flag; of unknown ones `stop` leaves the judgement to others.
  base::Result<void> TakeFlags(std::span<const FlagRow> rows, bool stop) {
    while (Next().starts_with('-') && Next() != "-") {
      std::string_view word = Next();
      word.remove_prefix(word.starts_with("--") ? 2 : 1);
      const std::size_t equals = word.find('=');
      const std::string name(word.substr(0, equals));
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const FlagRow& each) { return each.name == name; });
      if (row == rows.end() && stop) return {};
      if (row == rows.end())
        return MakeError(ErrorCode::kInvalid, "there is no flag {}", base::Quoted(Next()));
      std::optional<std::string> value;
      if (equals != std::string_view::npos) value = std::string(word.substr(equals + 1));
      words_ = words_.subspan(1);
      TRY_VOID(Take(*row, std::move(value)));
    }
    for (const FlagRow& row : rows) TakeVariable(row);
    return {};
  }

  base::Result<void> Take(const FlagRow& row, std::optional<std::string> value) {
    const std::string key(row.ours.empty() ? row.name : row.ours);
    if (row.use == Use::kSwitch) {
      values_[key] = {value.value_or("true")};
      return {};
    }
    if (!value && words_.empty())
      return MakeError(ErrorCode::kInvalid, "--{} needs a value", row.name);
    if (!value) {
      value = words_.front();
      words_ = words_.subspan(1);
    }
    if (row.use == Use::kRefused)
      return MakeError(ErrorCode::kUnsupported, "--{} is not here", row.name)
          .WithHint("partita runtime configure --runtime podman writes a hook's file");
    if (row.use == Use::kNoEffect)
      translated_.warnings.push_back(fmt::format("--{} has no effect here", row.name));
    if (row.use != Use::kValues) values_[key].clear();
    values_[key].push_back(*std::move(value));
    return {};
  }

  void TakeVariable(const FlagRow& row) {
    const std::string key(row.ours.empty() ? row.name : row.ours);
    if (row.variable == nullptr || values_.contains(key)) return;
    const std::string value = environment_.variable(row.variable).value_or("");
    if (value.empty()) return;
    if (row.use != Use::kValues) {
      values_[key] = {value};
      return;
    }
    for (const std::string_view piece : base::Split(value, ','))
      values_[key].emplace_back(base::Trim(piece));
  }

  // The form and the name of what is written; where the driver is.
  base::Result<void> FinishGenerate() {
    const std::string file = values_["FILE"].empty() ? "" : values_["FILE"].back();
    const std::string format = values_["output"].empty() ? "" : values_["output"].back();
    values_.erase("FILE");
    values_.erase("output");
    if (!format.empty() && format != "yaml" && format != "json")
      return MakeError(ErrorCode::kInvalid, "--format is yaml or json, not {}",
                       base::Quoted(format));
    const std::string extension = "." + (format.empty() ? "yaml" : format);
    const bool has = file.ends_with(".yaml") || file.ends_with(".json");
    if (has && !format.empty() && !file.ends_with(extension))
      return MakeError(ErrorCode::kInvalid, "--format {} is not what the name of {} says", format,
                       file);
    if (!file.empty())
      translated_.arguments.push_back(has || file.ends_with(".yml") ? file : file + extension);
    else if (format == "json")
      translated_.arguments.insert(translated_.arguments.end(), {"--output", "json"});
    if (!values_.contains("driver-root")) {
      TRY(root, environment_.driver_root(config_file_));
      if (!root.empty()) values_["driver-root"] = {root};
    }
    return {};
  }

  // Once a name of ours, whatever names of theirs lead to it.
  void Emit(const FlagRow& row) {
    const auto found = values_.find(std::string(row.ours));
    if (row.ours.empty() || found == values_.end()) return;
    for (const std::string& value : found->second) {
      if (row.use != Use::kSwitch) {
        translated_.arguments.push_back(fmt::format("--{}", row.ours));
        translated_.arguments.push_back(value);
      } else if (value == "true" || value == "1") {
        translated_.arguments.push_back(fmt::format("--{}", row.ours));
      }
    }
    values_.erase(found);
  }

  std::span<const std::string> words_;
  const CtkEnvironment& environment_;
  std::map<std::string, std::vector<std::string>> values_;  // by our names
  std::string config_file_;
  Translated translated_;
};

}  // namespace

base::Result<Translated> TranslateCtk(std::span<const std::string> words,
                                      const CtkEnvironment& environment) {
  return Translation(words, environment).Run();
}

}  // namespace partita::cli
