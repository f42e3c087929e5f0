#include "cli/ctk/translate.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/ctk/usage.h"
#include "cli/ctk/vocabulary.h"

namespace partita::cli {
namespace {

using base::ErrorCode;
using base::MakeError;

bool IsHelp(std::string_view word) { return word == "--help" || word == "-h" || word == "help"; }

class Translation {
 public:
  Translation(std::span<const std::string> words, const CtkEnvironment& environment)
      : words_(words), environment_(environment) {}

  base::Result<Translated> Run() {
    TRY_VOID(TakeFlags(CtkGlobalFlags(), true));
    if (Next() == "--version" || Next() == "-v") return Translated{{"version"}, {}, ""};
    const bool asks = IsHelp(Next());
    if (asks) words_ = words_.subspan(1);
    if (words_.empty()) return Translated{{}, {}, CtkUsage()};
    if (IsGroupAlone()) return Translated{{}, {}, CtkUsage(Next())};
    TRY(command, TakeCommand());
    // Behind other flags too.
    const bool asks_there = std::any_of(words_.begin(), words_.end(), [](const std::string& word) {
      return word == "--help" || word == "-h";
    });
    if (asks || asks_there || Next() == "help") return Translated{{}, {}, CtkUsage(*command)};
    for (const std::string_view word : base::SplitWords(command->ours))
      translated_.arguments.emplace_back(word);
    config_file_ = values_["config"].empty() ? "" : values_["config"].back();
    values_.clear();
    TRY_VOID(TakeFlags(command->flags, false));
    if (!words_.empty())
      return MakeError(ErrorCode::kInvalid, "unexpected word {}", base::Quoted(Next()));
    if (command->verb == "generate") TRY_VOID(FinishGenerate());
    if (command->group == "config") FinishConfig(command->verb.empty());
    for (const CtkFlag& row : command->flags) Emit(row);
    return translated_;
  }

 private:
  [[nodiscard]] std::string_view Next() const {
    if (words_.empty()) return {};
    return words_.front();
  }

  // "cdi", which is no command by itself: what can follow is told.
  [[nodiscard]] bool IsGroupAlone() const {
    if (words_.size() > 1 && !IsHelp(words_[1])) return false;
    const auto rows = CtkCommands();
    const auto is_of_it = [&](const CtkCommand& row) { return row.group == Next(); };
    return std::any_of(rows.begin(), rows.end(), is_of_it) && FindCommand("") == nullptr;
  }

  [[nodiscard]] const CtkCommand* FindCommand(std::string_view verb) const {
    for (const CtkCommand& row : CtkCommands()) {
      if (row.group == Next() && row.verb == verb) return &row;
    }
    return nullptr;
  }

  base::Result<const CtkCommand*> TakeCommand() {
    const std::string verb = words_.size() > 1 ? words_[1] : "";
    const CtkCommand* row = FindCommand(verb);
    if (row == nullptr) row = FindCommand("");
    if (row == nullptr) return NoCommandError(std::string(Next()), verb);
    words_ = words_.subspan(row->verb.empty() ? 1 : 2);
    return row;
  }

  // The very command, else one of a group that is not here at all.
  static const CtkMissing* FindMissing(const std::string& group, const std::string& both) {
    const auto rows = CtkCommands();
    const bool ours = std::any_of(rows.begin(), rows.end(),
                                  [&](const CtkCommand& row) { return row.group == group; });
    const CtkMissing* near = nullptr;
    for (const CtkMissing& each : CtkMissingCommands()) {
      if (each.command == both) return &each;
      const bool of_it = each.command.substr(0, each.command.find(' ')) == group;
      if (of_it && !ours && near == nullptr) near = &each;
    }
    return near;
  }

  static base::Error NoCommandError(const std::string& group, const std::string& verb) {
    const std::string both = verb.empty() ? group : group + " " + verb;
    if (const CtkMissing* missing = FindMissing(group, both))
      return MakeError(ErrorCode::kUnsupported, "nvidia-ctk {} is not here", both)
          .WithHint(std::string(missing->instead));
    return MakeError(ErrorCode::kInvalid, "there is no command {}", base::Quoted(both))
        .WithHint("nvidia-ctk --help lists them");
  }

  // Until a word that is no flag; of unknown ones `stop` leaves the judgement to others.
  base::Result<void> TakeFlags(std::span<const CtkFlag> rows, bool stop) {
    while (Next().starts_with('-') && Next() != "-") {
      std::string_view word = Next();
      word.remove_prefix(word.starts_with("--") ? 2 : 1);
      const std::size_t equals = word.find('=');
      const std::string name(word.substr(0, equals));
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const CtkFlag& each) { return each.name == name; });
      if (row == rows.end() && stop) return {};
      if (row == rows.end())
        return MakeError(ErrorCode::kInvalid, "there is no flag {}", base::Quoted(Next()));
      std::optional<std::string> value;
      if (equals != std::string_view::npos) value = std::string(word.substr(equals + 1));
      words_ = words_.subspan(1);
      TRY_VOID(Take(*row, std::move(value)));
    }
    for (const CtkFlag& row : rows) TakeVariable(row);
    return {};
  }

  base::Result<void> Take(const CtkFlag& row, std::optional<std::string> value) {
    const std::string key(row.ours.empty() ? row.name : row.ours);
    if (row.use == CtkUse::kSwitch) {
      values_[key] = {value.value_or("true")};
      return {};
    }
    if (!value && words_.empty())
      return MakeError(ErrorCode::kInvalid, "--{} needs a value", row.name);
    if (!value) {
      value = words_.front();
      words_ = words_.subspan(1);
    }
    if (row.use == CtkUse::kRefused)
      return MakeError(ErrorCode::kUnsupported, "--{} is not here", row.name)
          .WithHint("partita runtime configure --runtime podman writes a hook's file");
    if (row.use == CtkUse::kNoEffect)
      translated_.warnings.push_back(fmt::format("--{} has no effect here", row.name));
    if (row.use != CtkUse::kValues) values_[key].clear();
    values_[key].push_back(*std::move(value));
    return {};
  }

  void TakeVariable(const CtkFlag& row) {
    const std::string key(row.ours.empty() ? row.name : row.ours);
    if (row.variable == nullptr || values_.contains(key)) return;
    const std::string value = environment_.variable(row.variable).value_or("");
    if (value.empty()) return;
    if (row.use != CtkUse::kValues) {
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

  // The file that is written is an argument; that which is read may be named before the command.
  void FinishConfig(bool reads) {
    if (const auto file = values_.find("FILE"); file != values_.end()) {
      translated_.arguments.push_back(file->second.back());
      values_.erase(file);
    }
    if (reads && !config_file_.empty() && !values_.contains("config"))
      values_["config"] = {config_file_};
  }

  // Once a name of ours, whatever names of theirs lead to it.
  void Emit(const CtkFlag& row) {
    const auto found = values_.find(std::string(row.ours));
    if (row.ours.empty() || found == values_.end()) return;
    for (const std::string& value : found->second) {
      if (row.use != CtkUse::kSwitch) {
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
