#include "kube/watch_lines.h"

#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace partita::kube {
namespace {

constexpr std::array<std::pair<std::string_view, WatchEvent::Kind>, 5> kWatchKinds = {{
    {"ADDED", WatchEvent::Kind::kAdded},
    {"MODIFIED", WatchEvent::Kind::kModified},
    {"DELETED", WatchEvent::Kind::kDeleted},
    {"BOOKMARK", WatchEvent::Kind::kBookmark},
    {"ERROR", WatchEvent::Kind::kError},
}};

}  // namespace

base::Result<WatchEvent> ReadWatchEvent(std::string_view line) {
  TRY(document, base::ParseJson(line), "an event of a watch");
  const base::Value *type = document.Find("type"), *object = document.Find("object");
  const bool formed = type != nullptr && type->kind() == base::Value::Kind::kString &&
                      object != nullptr && object->kind() == base::Value::Kind::kMap;
  for (const auto& [word, kind] : kWatchKinds)
    if (formed && type->AsString() == word) return WatchEvent{kind, *object};
  return base::MakeError(base::ErrorCode::kInvalid, "{} is no event of a watch",
                         base::Quoted(line));
}

base::Result<void> WatchLines::Add(std::string_view bytes,
                                   const std::function<bool(std::string_view line)>& line) {
  for (;;) {
    const std::size_t end = bytes.find('\n');
    const std::size_t count = end == std::string_view::npos ? bytes.size() : end;
    if (begun_.size() + count > kMostLine) {
      return base::MakeError(base::ErrorCode::kInvalid, "a line of a watch has more than {} MiB",
                             kMostLine >> 20);
    }
    begun_ += bytes.substr(0, count);
    if (end == std::string_view::npos) return {};
    bytes.remove_prefix(end + 1);
    const std::string whole = std::exchange(begun_, {});
    if (!base::Trim(whole).empty() && !line(whole)) return {};
  }
}

std::string MetadataOf(const base::Value& object, std::string_view key) {
  const base::Value* metadata = object.Find("metadata");
  const base::Value* member = metadata == nullptr ? nullptr : metadata->Find(key);
  if (member == nullptr || member->kind() != base::Value::Kind::kString) return "";
  return member->AsString();
}

}  // namespace partita::kube
