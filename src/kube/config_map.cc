#include "kube/config_map.h"

#include <optional>
#include <utility>

#include "kube/base64.h"

namespace partita::kube {
namespace {

const std::vector<base::Value::Member>& MembersBelow(const base::Value& map, const char* key) {
  static const std::vector<base::Value::Member> none;
  const base::Value* below = map.Find(key);
  return below == nullptr || below->kind() != base::Value::Kind::kMap ? none : below->members();
}

}  // namespace

std::map<std::string, std::string> TextsOf(const base::Value& config_map) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, text] : MembersBelow(config_map, "data"))
    if (text.kind() == base::Value::Kind::kString) texts[key] = text.AsString();
  for (const auto& [key, coded] : MembersBelow(config_map, "binaryData")) {
    if (coded.kind() != base::Value::Kind::kString) continue;
    if (std::optional<std::string> text = DecodeBase64(coded.AsString()))
      texts[key] = *std::move(text);
  }
  return texts;
}

}  // namespace partita::kube
