// Flags of hooks: `--name value`, `--name=value`; one dash does too.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::hook {

enum class Takes { kValue, kValues, kNothing };
struct Flag {
  std::string_view name;
  Takes takes;
};

class Flags {
 public:
  // kInvalid: a flag that is not in the table, one that lacks its value, and words without a dash.
  static base::Result<Flags> Parse(std::span<const std::string> arguments,
                                   std::span<const Flag> table);

  [[nodiscard]] bool Has(std::string_view name) const { return values_.contains(name); }
  // The last one, or `otherwise`.
  [[nodiscard]] std::string Value(std::string_view name, std::string_view otherwise = "") const;
  // All, in order. A comma separates nothing: paths may have one.
  [[nodiscard]] std::vector<std::string> Values(std::string_view name) const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

}  // namespace partita::hook
