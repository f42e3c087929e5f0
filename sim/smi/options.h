// The command line in the form of the real tool: single-dash words, values beside or after "=".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace partita::sim::smi {

struct OptionRow {
  std::string_view name;       // "-i"
  std::string_view long_name;  // "--id"
  enum class Takes { kNothing, kValue, kOptionalValue } takes;
};

class Options {
 public:
  // Prints what is wrong and returns nothing: the exit status is then 2.
  [[nodiscard]] static std::optional<Options> Parse(std::span<const OptionRow> rows,
                                                    std::span<const std::string> words);

  // By the row's short name, or its long one where it has no short.
  [[nodiscard]] bool Has(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> Get(std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return given_.size(); }

 private:
  struct Given {
    std::string name;
    std::optional<std::string> value;
  };
  std::vector<Given> given_;
};

// `ERROR: Option X …`: always status 2, with an empty line after it (captured on driver 580).
int UsageError(std::string_view option, std::string_view what);

}  // namespace partita::sim::smi
