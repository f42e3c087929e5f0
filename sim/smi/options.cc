#include "sim/smi/options.h"

#include <algorithm>

#include "sim/smi/output.h"

namespace partita::sim::smi {

int UsageError(std::string_view option, std::string_view what) {
  Say("ERROR: Option {} {} Please run 'nvidia-smi -h' for help.\n\n", option, what);
  return 2;
}

std::optional<Options> Options::Parse(std::span<const OptionRow> rows,
                                      std::span<const std::string> words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t equals = word.find('=');
    const std::string_view name = std::string_view(word).substr(0, equals);
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const OptionRow& each) {
      return !name.empty() && (each.name == name || each.long_name == name);
    });
    const bool takes_none = row != rows.end() && row->takes == OptionRow::Takes::kNothing;
    if (row == rows.end() || (takes_none && equals != std::string::npos)) {
      UsageError(word, "is not recognized.");
      return std::nullopt;
    }
    Given given{std::string(row->name.empty() ? row->long_name : row->name), std::nullopt};
    const bool another = i + 1 < words.size();
    const bool takes_next =
        row->takes == OptionRow::Takes::kValue || (row->takes == OptionRow::Takes::kOptionalValue &&
                                                   another && !words[i + 1].starts_with('-'));
    if (equals != std::string::npos) {
      given.value = word.substr(equals + 1);
    } else if (takes_next && another) {
      given.value = words[++i];
    }
    if (row->takes == OptionRow::Takes::kValue && !given.value) {
      UsageError(word, "needs a value.");
      return std::nullopt;
    }
    options.given_.push_back(std::move(given));
  }
  return options;
}

bool Options::Has(std::string_view name) const {
  return std::any_of(given_.begin(), given_.end(),
                     [&](const Given& each) { return each.name == name; });
}

std::optional<std::string> Options::Get(std::string_view name) const {
  const auto found = std::find_if(given_.begin(), given_.end(),
                                  [&](const Given& each) { return each.name == name; });
  return found == given_.end() ? std::nullopt : found->value;
}

}  // namespace partita::sim::smi
