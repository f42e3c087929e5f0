// The keys of a product file: one row a fact, with the type it must have and the place it fills.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/problems.h"
#include "sim/load/product.h"

namespace partita::sim::load {

struct FactRow {
  std::string key;
  bool required;
  // Reads the value into the product, or adds a problem.
  std::function<void(const config::Node&, config::Problems&, Product&)> read;
};

[[nodiscard]] const std::vector<FactRow>& FactRows();
// Null when there is no such key.
[[nodiscard]] const FactRow* FindFactRow(std::string_view key);
[[nodiscard]] std::vector<std::string> FactKeys();

// Copies into an array of a state struct; a problem when it does not fit.
template <std::size_t N>
void CopyText(const std::string& text,
              const config::Node& node,
              config::Problems& problems,
              char (&out)[N]) {
  if (text.size() >= N) {
    problems.Add(node, "longer than " + std::to_string(N - 1) + " bytes");
    return;
  }
  text.copy(out, text.size());
  out[text.size()] = '\0';
}

// The checks of a fact's surroundings: `{value: …, source: …, confidence: …}`. Returns the value,
// or null after a problem.
[[nodiscard]] const config::Node* CheckFact(const config::Node& fact,
                                            const std::vector<std::string>& sources,
                                            config::Problems& problems);

// `source` names one of the file's sources and `confidence` is one of the five letters. Keys with
// the prefix ("starts_") are read for a column that has its own.
void CheckOrigin(const config::Node& map,
                 const std::vector<std::string>& sources,
                 std::string_view prefix,
                 config::Problems& problems);

}  // namespace partita::sim::load
