#include "service/toolkit/kept_keys.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::service::toolkit {
namespace {

KeyPath Whole(const KeptKey& key) {
  KeyPath path = key.path;
  path.insert(path.end(), key.mark.begin(), key.mark.end());
  return path;
}

KeyPath First(const KeyPath& path, std::size_t parts) {
  return {path.begin(), path.begin() + static_cast<std::ptrdiff_t>(parts)};
}

bool IsBelow(const KeyPath& path, const KeyPath& above) {
  return path.size() > above.size() && First(path, above.size()) == above;
}

std::size_t PartsThere(const KeyedText& text, const KeyPath& path) {
  std::size_t parts = 0;
  while (parts < path.size() && text.Raw(First(path, parts + 1))) ++parts;
  return parts;
}

std::string Name(const KeyPath& path) { return base::Join(path, "."); }

base::Result<std::string> TakeOut(KeyedText& text, const KeptKey& key) {
  TRY_VOID(text.Remove(key.path));
  for (std::size_t parts = key.path.size() - 1; parts > key.there; --parts) {
    if (text.IsEmptyTable(First(key.path, parts))) TRY_VOID(text.Remove(First(key.path, parts)));
  }
  return fmt::format("{} is gone", Name(key.path));
}

// Of a list that somebody else changed too.
base::Result<std::string> TakeItemOut(KeyedText& text, const KeptKey& key) {
  TRY(removed, text.RemoveItem(key.path, key.item));
  if (!removed) return fmt::format("{} was changed by somebody and stays", Name(key.path));
  return fmt::format("{} has no {} any more", Name(key.path), base::Quoted(key.item));
}

base::Result<std::string> PutOneBack(KeyedText& text, const KeptKey& key) {
  if (!IsOurs(text, key)) {
    if (!key.item.empty()) return TakeItemOut(text, key);
    return fmt::format("{} was changed by somebody and stays", Name(key.path));
  }
  if (key.needed && text.HasOtherThan(key.path.front()))
    return fmt::format("{} stays for what else is in the file", Name(key.path));
  if (!key.before) return TakeOut(text, key);
  TRY_VOID(text.Put(key.path, *key.before));
  return fmt::format("{} is {} again", Name(key.path), *key.before);
}

}  // namespace

bool IsOurs(const KeyedText& text, const KeptKey& key) {
  return text.Said(Whole(key)) == key.written;
}

std::vector<KeptKey> KeepKeys(const KeyedText& before,
                              const KeyedText& after,
                              const std::vector<KeptKey>& candidates,
                              std::vector<KeptKey> known) {
  const auto changed = std::stable_partition(
      known.begin(), known.end(), [&](const KeptKey& key) { return IsOurs(before, key); });
  std::vector<KeptKey> others(changed, known.end());
  known.erase(changed, known.end());
  for (const KeptKey& candidate : candidates) {
    const KeyPath& path = candidate.path;
    const bool covered = std::any_of(known.begin(), known.end(), [&](const KeptKey& key) {
      return key.path == path || (!key.before && IsBelow(path, key.path));
    });
    if (covered || before.Said(path) == after.Said(path)) continue;
    std::erase_if(others, [&](const KeptKey& key) {
      return key.path == path || (!key.before && IsBelow(path, key.path));
    });
    KeptKey kept = candidate;
    kept.before = before.Raw(path);
    kept.there = PartsThere(before, path);
    others.push_back(std::move(kept));
  }
  known.insert(known.end(), others.begin(), others.end());
  for (KeptKey& key : known) {
    // What somebody else wrote, and this edit let be, is as little ours as before.
    const bool touched = before.Said(Whole(key)) != after.Said(Whole(key));
    if (touched) key.written = after.Said(Whole(key));
  }
  return known;
}

base::Result<std::vector<std::string>> PutBack(KeyedText& text, const std::vector<KeptKey>& keys) {
  std::vector<std::string> done;
  for (const bool needed : {false, true}) {
    for (const KeptKey& key : keys) {
      if (key.needed != needed || !text.Raw(key.path)) continue;
      TRY(said, PutOneBack(text, key));
      done.push_back(std::move(said));
    }
  }
  return done;
}

}  // namespace partita::service::toolkit
