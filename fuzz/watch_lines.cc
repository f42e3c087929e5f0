// Any bytes as the body of a watch, at once and in pieces of a size that the first byte says: the
// same lines, and the same events of them.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "kube/status.h"
#include "kube/watch_lines.h"

namespace {

std::vector<std::string> Lines(std::string_view text, std::size_t piece) {
  using namespace partita;
  kube::WatchLines lines;
  std::vector<std::string> all;
  base::Result<void> added;
  while (!text.empty() && added.ok()) {
    added = lines.Add(text.substr(0, piece), [&](std::string_view line) {
      all.emplace_back(line);
      return true;
    });
    text.remove_prefix(std::min(piece, text.size()));
  }
  return all;
}

}  // namespace

FUZZ_TARGET(watch_lines) {
  using namespace partita;
  if (size == 0) return 0;
  const std::string_view text = fuzz::AsText(data + 1, size - 1);
  const std::vector<std::string> all = Lines(text, std::max<std::size_t>(text.size(), 1));
  PARTITA_CHECK(all == Lines(text, std::size_t{data[0]} % 29 + 1));
  for (const std::string& line : all) {
    const auto event = kube::ReadWatchEvent(line);
    if (!event.ok()) continue;
    PARTITA_CHECK(event->object.kind() == base::Value::Kind::kMap);
    (void)kube::MetadataOf(event->object, "resourceVersion");
    (void)kube::ErrorOfStatus(kube::CodeOfStatus(event->object), event->object);
  }
  (void)kube::ErrorOfAnswer(data[0] * 3, text);
  (void)kube::ObjectOf({.status = 200, .body = std::string(text)});
  return 0;
}
