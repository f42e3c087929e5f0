#include "service/ledger/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/state_file.h"
#include "service/ledger/record.h"

namespace partita::service::ledger {
namespace {

constexpr int kJournalFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
constexpr mode_t kJournalMode = 0600;
constexpr std::size_t kMostJournal = std::size_t{256} << 20;

base::StateFile StateFile(const std::string& directory) {
  return {directory + "/ledger.json", "ledger", 1};
}

base::Result<void> SyncDirectory(const std::string& directory) {
  const base::UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0)
    return base::ErrnoError(fmt::format("sync {}", directory));
  return {};
}

base::Result<void> WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::ErrnoError(fmt::format("write {}", path));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

struct FileRecords {
  std::string bytes;
  Records records;
};

base::Result<std::optional<FileRecords>> ReadRecords(const std::string& path) {
  base::Result<std::string> bytes = base::ReadFile(path, kMostJournal);
  if (!bytes.ok() && bytes.error().code() == base::ErrorCode::kNotFound)
    return std::optional<FileRecords>();
  if (!bytes.ok()) return std::move(bytes).error();
  TRY(records, DecodeRecords(*bytes), "{}", path);
  return std::optional<FileRecords>({*std::move(bytes), std::move(records)});
}

// Puts changes onto a state. A gap in the numbers is told, and what follows it counts all the same:
// a hold too many delays somebody, one too few gives a device twice.
class Replay {
 public:
  Replay(Snapshot& snapshot, std::vector<std::string>& warnings)
      : snapshot_(snapshot), warnings_(warnings) {}

  base::Result<void> Add(const std::vector<Record>& records, const std::string& path) {
    for (const Record& record : records) {
      if (record.sequence <= snapshot_.sequence) continue;
      TRY(changes, DecodeChanges(record.payload), "{}: record {}", path, record.sequence);
      if (record.sequence != snapshot_.sequence + 1) {
        warnings_.push_back(fmt::format("{}: records {} to {} are missing", path,
                                        snapshot_.sequence + 1, record.sequence - 1));
      }
      for (const Change& change : changes) Apply(snapshot_.state, change);
      snapshot_.sequence = record.sequence;
    }
    return {};
  }

 private:
  Snapshot& snapshot_;
  std::vector<std::string>& warnings_;
};

}  // namespace

base::Result<Journal::Opened> Journal::Open(const std::string& directory) {
  TRY_VOID(base::MakeDirectories(directory, 0700));
  Opened opened{Journal(directory), {}, {}};
  TRY(state, base::ReadState(StateFile(directory)));
  if (!state.warning.empty()) opened.warnings.push_back(state.warning);
  if (state.payload) {
    TRY(snapshot, DecodeSnapshot(*state.payload), "{}", StateFile(directory).path);
    opened.snapshot = std::move(snapshot);
  }
  Replay replay(opened.snapshot, opened.warnings);
  Journal& journal = opened.journal;
  const std::string path = journal.Path();
  TRY(before, ReadRecords(path + ".bak"));
  if (before) TRY_VOID(replay.Add(before->records.whole, path + ".bak"));
  TRY(now, ReadRecords(path));
  // Whoever wrote into it had synced its name before.
  TRY_VOID(journal.OpenFile(now && !now->bytes.empty() ? Name::kKnown : Name::kNew));
  if (!now) return opened;
  TRY_VOID(replay.Add(now->records.whole, path));
  journal.length_ = now->records.length;
  if (now->records.damaged != 0) {
    TRY_VOID(base::WriteFileAtomically(path + ".damaged", now->bytes, 0600));
    opened.warnings.push_back(fmt::format("{} was damaged in {} places; a copy is {}.damaged", path,
                                          now->records.damaged, path));
  }
  const std::size_t torn = now->bytes.size() - now->records.length;
  if (torn == 0) return opened;
  if (ftruncate(journal.fd_.get(), static_cast<off_t>(journal.length_)) != 0 ||
      fdatasync(journal.fd_.get()) != 0)
    return base::ErrnoError(fmt::format("cut {}", path));
  opened.warnings.push_back(
      fmt::format("{}: the last {} bytes were not a whole record and were cut off", path, torn));
  return opened;
}

base::Result<std::optional<Snapshot>> Journal::Read(const std::string& directory) {
  const Journal journal(directory);
  Snapshot snapshot;
  std::vector<std::string> warnings;
  TRY(state, base::PeekState(StateFile(directory)));
  if (state) {
    TRY(decoded, DecodeSnapshot(*state), "{}", StateFile(directory).path);
    snapshot = std::move(decoded);
  }
  Replay replay(snapshot, warnings);
  bool any = state.has_value();
  for (const std::string& path : {journal.Path() + ".bak", journal.Path()}) {
    TRY(records, ReadRecords(path));
    if (!records) continue;
    any = true;
    TRY_VOID(replay.Add(records->records.whole, path));
  }
  if (!any) return std::optional<Snapshot>();
  return std::optional<Snapshot>(std::move(snapshot));
}

base::Result<void> Journal::OpenFile(Name name) {
  fd_.Reset(open(Path().c_str(), kJournalFlags, kJournalMode));
  if (!fd_.valid()) return base::ErrnoError(fmt::format("open {}", Path()));
  length_ = 0;
  if (name == Name::kKnown) return {};
  return SyncDirectory(directory_);
}

base::Result<void> Journal::Write(std::string_view records) {
  if (suspect_) {
    return base::MakeError(base::ErrorCode::kIo, "{} is in doubt after a failed write", Path())
        .WithHint("see that its disk works and has room");
  }
  base::Result<void> written = WriteAll(fd_.get(), records, Path());
  if (!written.ok()) {
    suspect_ = ftruncate(fd_.get(), static_cast<off_t>(length_)) != 0;
    return written;
  }
  length_ += records.size();
  return {};
}

base::Result<void> Journal::Append(std::string_view records) {
  const std::size_t before = length_;
  TRY_VOID(Write(records));
  if (fdatasync(fd_.get()) != 0) {
    const int reason = errno;
    // After a failed sync nobody knows what is on the disk, and a second one may lie.
    suspect_ = true;
    length_ = before;
    return base::ErrnoError(fmt::format("sync {}", Path()), reason);
  }
  return {};
}

base::Result<Journal::Sync> Journal::SyncLater() const {
  const int fd = fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return base::ErrnoError(fmt::format("sync {}", Path()));
  return Sync([own = std::make_shared<base::UniqueFd>(fd), path = Path()]() -> base::Result<void> {
    if (fdatasync(own->get()) != 0) return base::ErrnoError(fmt::format("sync {}", path));
    return {};
  });
}

base::Result<void> Journal::Fold(const Snapshot& snapshot) {
  TRY_VOID(base::WriteState(StateFile(directory_), EncodeSnapshot(snapshot)));
  return Rotate();
}

// Interrupted anywhere, the records are in the one file or the other, and both are read; those that
// are in the state by now are skipped by their numbers.
base::Result<void> Journal::Rotate() {
  const std::string beside = Path() + ".new";
  base::UniqueFd fresh(open(beside.c_str(), kJournalFlags | O_TRUNC, kJournalMode));
  if (!fresh.valid()) return base::ErrnoError(fmt::format("create {}", beside));
  // Absent after a rotation that got this far and no farther.
  if (std::rename(Path().c_str(), (Path() + ".bak").c_str()) != 0 && errno != ENOENT)
    return base::ErrnoError(fmt::format("rename {}", Path()));
  if (std::rename(beside.c_str(), Path().c_str()) != 0)
    return base::ErrnoError(fmt::format("rename {}", beside));
  fd_ = std::move(fresh);
  length_ = 0;
  // Until this is done, what is appended could vanish with the file's name.
  suspect_ = true;
  TRY_VOID(SyncDirectory(directory_));
  suspect_ = false;
  return {};
}

}  // namespace partita::service::ledger
