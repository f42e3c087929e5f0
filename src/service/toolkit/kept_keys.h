// What keys of an engine's file were before we changed them, so that undo puts back these and
// nothing else, whatever somebody wrote beside them since.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace partita::service::toolkit {

using KeyPath = std::vector<std::string>;

struct KeptKey {
  KeyPath path{};
  // The value as it was written; absent: there was no such key.
  std::optional<std::string> before{};
  std::size_t there = 0;  // how many of the path's parts were there
  // Below the path: by its value the key is known as ours. Empty: the key's own value.
  KeyPath mark{};
  std::string written{};  // that value, as KeyedText::Said has it
  std::string item{};     // a list got this one
  bool needed = false;    // it stays while anything else is in the file
  bool operator==(const KeptKey&) const = default;
};

// What is remembered of a file that we wrote.
struct FileMemory {
  bool written = false;                   // by us, and not taken back
  bool created = false;                   // there was no such file before
  bool untouched = false;                 // it is byte for byte what we wrote
  std::optional<std::string> original{};  // its bytes from before us, where there is a copy
  std::vector<KeptKey> keys{};
  std::string copied{};  // sha256 of what a table says that was copied into it
  bool operator==(const FileMemory&) const = default;
};

// A document whose keys are edited in place.
class KeyedText {
 public:
  KeyedText() = default;
  KeyedText(const KeyedText&) = delete;
  KeyedText& operator=(const KeyedText&) = delete;
  virtual ~KeyedText() = default;

  // As written; absent where there is no such key.
  [[nodiscard]] virtual std::optional<std::string> Raw(const KeyPath& path) const = 0;
  // The same in one way of writing; empty where there is no such key.
  [[nodiscard]] virtual std::string Said(const KeyPath& path) const = 0;
  [[nodiscard]] virtual bool IsEmptyTable(const KeyPath& path) const = 0;
  [[nodiscard]] virtual bool HasOtherThan(const std::string& key) const = 0;
  [[nodiscard]] virtual base::Result<void> Put(const KeyPath& path, const std::string& raw) = 0;
  [[nodiscard]] virtual base::Result<void> Remove(const KeyPath& path) = 0;
  // False where the list has no such item, or there is no list.
  [[nodiscard]] virtual base::Result<bool> RemoveItem(const KeyPath& path,
                                                      const std::string& item) = 0;
};

// What to keep after an edit: of `candidates` (path, mark, item, needed) those that differ, with
// what they were, and `known` from edits before. A key that is still what we wrote keeps what it
// was before the first of them.
[[nodiscard]] std::vector<KeptKey> KeepKeys(const KeyedText& before,
                                            const KeyedText& after,
                                            const std::vector<KeptKey>& candidates,
                                            std::vector<KeptKey> known);

// True where the key is what we wrote.
[[nodiscard]] bool IsOurs(const KeyedText& text, const KeptKey& key);

// Each key becomes what it was, but not one that somebody changed since. What was done, in words.
[[nodiscard]] base::Result<std::vector<std::string>> PutBack(KeyedText& text,
                                                             const std::vector<KeptKey>& keys);

}  // namespace partita::service::toolkit
