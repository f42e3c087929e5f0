#include "hook/flags.h"

#include <algorithm>

#include "base/text.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;

}  // namespace

base::Result<Flags> Flags::Parse(std::span<const std::string> arguments,
                                 std::span<const Flag> table) {
  Flags flags;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    if (!word.starts_with('-') || word == "-" || word == "--")
      return MakeError(ErrorCode::kInvalid, "{} is no flag", base::Quoted(word));
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const auto row = std::find_if(table.begin(), table.end(),
                                  [&](const Flag& flag) { return flag.name == name; });
    if (row == table.end())
      return MakeError(ErrorCode::kInvalid, "there is no flag {}", base::Quoted(arguments[i]));
    std::vector<std::string>& values = flags.values_[std::string(name)];
    if (row->takes != Takes::kValues) values.clear();
    if (equals != std::string_view::npos) {
      values.emplace_back(word.substr(equals + 1));
    } else if (row->takes == Takes::kNothing) {
      values.emplace_back("true");
    } else if (++i < arguments.size()) {
      values.push_back(arguments[i]);
    } else {
      return MakeError(ErrorCode::kInvalid, "the flag --{} needs a value", name);
    }
  }
  return flags;
}

std::string Flags::Value(std::string_view name, std::string_view otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string(otherwise) : found->second.back();
}

std::vector<std::string> Flags::Values(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

}  // namespace partita::hook
