#include "service/ledger/fields.h"

#include <limits>

#include <fmt/format.h>

namespace partita::service::ledger {
namespace {

const base::Value& Nothing() {
  static const base::Value nothing = base::Value::Map();
  return nothing;
}

}  // namespace

void Fields::Wrong(std::string_view key, std::string_view why) const {
  if (problem_.empty()) problem_ = fmt::format("{} {}", key, why);
}

const base::Value* Fields::Find(std::string_view key, base::Value::Kind kind) const {
  const base::Value* found = map_.Find(key);
  if (found != nullptr && found->kind() == kind) return found;
  Wrong(key, found == nullptr ? "is missing" : "is of another kind");
  return nullptr;
}

std::string Fields::Text(std::string_view key) const {
  const base::Value* found = Find(key, base::Value::Kind::kString);
  return found == nullptr ? "" : found->AsString();
}

std::uint64_t Fields::Number(std::string_view key) const {
  const base::Value* found = Find(key, base::Value::Kind::kUnsigned);
  return found == nullptr ? 0 : found->AsUnsigned();
}

std::uint32_t Fields::Small(std::string_view key) const {
  const std::uint64_t number = Number(key);
  if (number > std::numeric_limits<std::uint32_t>::max()) Wrong(key, "is too large");
  return static_cast<std::uint32_t>(number);
}

std::int64_t Fields::Signed(std::string_view key) const {
  const base::Value* found = map_.Find(key);
  if (found != nullptr && found->kind() == base::Value::Kind::kInteger) return found->AsInteger();
  const std::uint64_t number = Number(key);
  if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) Wrong(key, "is too large");
  return static_cast<std::int64_t>(number);
}

bool Fields::Flag(std::string_view key) const {
  if (!Has(key)) return false;
  const base::Value* found = Find(key, base::Value::Kind::kBool);
  return found != nullptr && found->AsBool();
}

Fields Fields::Below(std::string_view key) const {
  const base::Value* found = Find(key, base::Value::Kind::kMap);
  return {found == nullptr ? Nothing() : *found, problem_};
}

std::vector<Fields> Fields::List(std::string_view key) const {
  std::vector<Fields> all;
  const base::Value* found = Find(key, base::Value::Kind::kList);
  if (found == nullptr) return all;
  for (const base::Value& item : found->items()) all.emplace_back(item, problem_);
  return all;
}

}  // namespace partita::service::ledger
