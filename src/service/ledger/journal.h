// The two files that outlive the ledger's process: ledger.json, a whole state, and ledger.journal,
// the changes since. Both are kept once more as .bak, so that with a damaged ledger.json the older
// state and the older changes still add up. One owner; blocks while the disk does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/ledger/codec.h"

namespace partita::service::ledger {

class Journal {
 public:
  struct Opened;

  // Reads what is there and cuts off what was not finished. Fails on what cannot be read, and on
  // files of another version, which are left alone.
  [[nodiscard]] static base::Result<Opened> Open(const std::string& directory);

  // The state after the last whole record; changes nothing. Absent: there never was a ledger.
  [[nodiscard]] static base::Result<std::optional<Snapshot>> Read(const std::string& directory);

  // Writes and syncs whole records. When it fails, nothing of them will be read again, unless the
  // sync failed and the machine stops before the next Fold: the caller must count them as used.
  [[nodiscard]] base::Result<void> Append(std::string_view records);

  // Append in two halves. What is written outlives this program; what is synced, the machine. The
  // second half is whoever's that has time to wait for a disk, on any thread, also after this
  // object went; where it fails, call Doubt.
  [[nodiscard]] base::Result<void> Write(std::string_view records);
  using Sync = std::function<base::Result<void>()>;
  [[nodiscard]] base::Result<Sync> SyncLater() const;
  void Doubt() { suspect_ = true; }

  // Writes a whole state and begins an empty journal. Failed or interrupted, all is as before.
  [[nodiscard]] base::Result<void> Fold(const Snapshot& snapshot);

  // A failed write left the file in doubt: nothing can be appended before a Fold.
  [[nodiscard]] bool suspect() const { return suspect_; }
  [[nodiscard]] std::size_t length() const { return length_; }

 private:
  explicit Journal(std::string directory) : directory_(std::move(directory)) {}
  [[nodiscard]] std::string Path() const { return directory_ + "/ledger.journal"; }
  // Begins the file anew if it is not there; a name that the disk may not know yet is synced.
  enum class Name : std::uint8_t { kKnown, kNew };
  base::Result<void> OpenFile(Name name);
  base::Result<void> Rotate();

  std::string directory_;
  base::UniqueFd fd_;
  std::size_t length_ = 0;
  bool suspect_ = false;
};

struct Journal::Opened {
  Journal journal;
  Snapshot snapshot;                  // the state after the last whole record
  std::vector<std::string> warnings;  // what was damaged, cut off or is missing
};

}  // namespace partita::service::ledger
