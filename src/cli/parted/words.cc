#include "cli/parted/words.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::cli::parted {

namespace {

using base::Command;
using base::ErrorCode;
using base::Option;
using base::Result;

// As Go reads a truth value.
std::optional<bool> ParseBool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "true", "TRUE", "True"};
  constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "false", "FALSE", "False"};
  if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) return false;
  return std::nullopt;
}

bool IsHelpWord(std::string_view word) { return word == "help" || word == "h"; }

// A flag: more than a dash alone, which names standard input.
bool IsFlag(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

// Reads the words once, from left to right.
class Reader {
 public:
  Reader(const base::Program& program, std::span<const std::string> words)
      : root_(program.root), words_(words) {}

  Result<Understood> Run() {
    TRY_VOID(Flags());
    if (help_ || version_) return Finish();
    if (next_ == words_.size()) {
      help_ = true;
      return Finish();
    }
    const std::string& name = words_[next_++];
    if (IsHelpWord(name)) return HelpTopic();
    if (!Enter(name)) return Finish();
    TRY_VOID(Flags());
    TRY_VOID(Rest());
    return Finish();
  }

 private:
  Result<Understood> HelpTopic() {
    help_ = true;
    if (next_ < words_.size()) Enter(words_[next_]);
    return Finish();
  }

  bool Enter(const std::string& name) {
    const auto found = std::find_if(root_.commands.begin(), root_.commands.end(),
                                    [&](const Command& each) { return each.name == name; });
    if (found == root_.commands.end()) {
      understood_.unknown_topic = name;
      return false;
    }
    command_ = &*found;
    return true;
  }

  // Up to the first word that is no flag.
  Result<void> Flags() {
    while (next_ < words_.size() && IsFlag(words_[next_]) && !help_ && !version_) {
      const std::string& word = words_[next_++];
      if (word == "--") return {};
      TRY_VOID(Flag(word));
    }
    return {};
  }

  // What stands behind a command's flags. A flag there is an error, not ignored as the reference
  // does: an unread --mode-only or --skip-reset would change more than was asked for.
  Result<void> Rest() {
    if (next_ < words_.size() && IsHelpWord(words_[next_])) {
      help_ = true;
      return {};
    }
    for (std::size_t i = next_; i < words_.size(); ++i) {
      if (IsFlag(words_[i])) {
        return base::MakeError(ErrorCode::kInvalid, "flag {} stands behind {}, which is no flag",
                               words_[i], base::Quoted(words_[next_]));
      }
      understood_.ignored.push_back(words_[i]);
    }
    return {};
  }

  Result<void> Flag(const std::string& word) {
    const bool single = !word.starts_with("--");
    const std::string_view body = std::string_view(word).substr(single ? 1 : 2);
    const std::size_t equals = body.find('=');
    const std::string_view name = body.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = std::string(body.substr(equals + 1));
    if (IsHelpWord(name)) {
      help_ = true;
      return {};
    }
    if (command_ == nullptr && (name == "version" || name == "v")) {
      version_ = true;
      return {};
    }
    if (const Option* option = Find(name)) return Store(*option, name, std::move(value));
    if (single && equals == std::string_view::npos && AllLetters(name)) return Letters(name);
    return base::MakeError(ErrorCode::kInvalid, "unknown flag {}", word);
  }

  [[nodiscard]] bool AllLetters(std::string_view letters) const {
    return std::all_of(letters.begin(), letters.end(),
                       [&](char letter) { return Find(std::string_view(&letter, 1)) != nullptr; });
  }

  // -ma is -m -a.
  Result<void> Letters(std::string_view letters) {
    for (const char& letter : letters) {
      const std::string_view name(&letter, 1);
      TRY_VOID(Store(*Find(name), name, std::nullopt));
    }
    return {};
  }

  [[nodiscard]] const Option* Find(std::string_view name) const {
    for (const Command* command : {command_, &root_}) {
      if (command == nullptr) continue;
      for (const Option& option : command->options) {
        if (option.name == name) return &option;
        if (name.size() == 1 && option.letter == name[0]) return &option;
      }
    }
    return nullptr;
  }

  Result<void> Store(const Option& option,
                     std::string_view name,
                     std::optional<std::string> value) {
    if (option.value_name.empty()) {
      const std::optional<bool> on = ParseBool(value.value_or("true"));
      if (!on) {
        return base::MakeError(ErrorCode::kInvalid, "flag -{} takes true or false, not {}", name,
                               base::Quoted(*value));
      }
      settings_[option.name] = {&option, *on ? "true" : "false"};
      return {};
    }
    if (!value && next_ == words_.size()) {
      return base::MakeError(ErrorCode::kInvalid, "flag -{} needs a value: {}", name,
                             option.value_name);
    }
    settings_[option.name] = {&option, value ? *std::move(value) : words_[next_++]};
    return {};
  }

  Understood Finish() {
    std::vector<std::string>& words = understood_.words;
    if (command_ != nullptr) words.push_back(command_->name);
    if (help_) words.emplace_back("--help");
    if (version_) words.emplace_back("--version");
    for (const auto& [name, setting] : settings_) {
      const auto& [option, value] = setting;
      const bool is_switch = option->value_name.empty();
      if (is_switch && value == "false") {
        understood_.overruled.push_back(option->environment);
      } else {
        words.push_back(is_switch ? "--" + name : fmt::format("--{}={}", name, value));
      }
    }
    return std::move(understood_);
  }

  const Command& root_;
  std::span<const std::string> words_;
  std::size_t next_ = 0;
  const Command* command_ = nullptr;
  bool help_ = false, version_ = false;
  // By name; the last of two equal flags counts.
  std::map<std::string, std::pair<const Option*, std::string>> settings_;
  Understood understood_;
};

}  // namespace

Result<Understood> Understand(const base::Program& program, std::span<const std::string> words) {
  return Reader(program, words).Run();
}

}  // namespace partita::cli::parted
