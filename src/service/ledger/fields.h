// Reading the members of a JSON object that a program wrote. The first thing that is not as it
// should be is remembered, and reading goes on with nothing: one look at the end is enough.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace partita::service::ledger {

class Fields {
 public:
  // `problem` outlives this and what Below returns, and so does `map`.
  Fields(const base::Value& map, std::string& problem) : map_(map), problem_(problem) {
    if (map.kind() != base::Value::Kind::kMap) Wrong("an object", "is none");
  }

  [[nodiscard]] bool Has(std::string_view key) const { return map_.Find(key) != nullptr; }
  [[nodiscard]] std::string Text(std::string_view key) const;
  [[nodiscard]] std::uint64_t Number(std::string_view key) const;
  [[nodiscard]] std::uint32_t Small(std::string_view key) const;
  [[nodiscard]] std::int64_t Signed(std::string_view key) const;
  // Absent is false.
  [[nodiscard]] bool Flag(std::string_view key) const;
  [[nodiscard]] Fields Below(std::string_view key) const;
  [[nodiscard]] std::vector<Fields> List(std::string_view key) const;
  void Wrong(std::string_view key, std::string_view why) const;

 private:
  [[nodiscard]] const base::Value* Find(std::string_view key, base::Value::Kind kind) const;

  const base::Value& map_;
  std::string& problem_;
};

}  // namespace partita::service::ledger
