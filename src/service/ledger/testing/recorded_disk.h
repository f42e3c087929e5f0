// Every change that this program makes to files, as it happens: recorded, made to fail, or played
// back up to some point as a disk would have it after the machine stopped there. The program is
// linked so that calls of the C library come here (--wrap).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace partita::service::ledger::testing {

enum class Step : std::uint8_t {
  kCreate,
  kTruncate,
  kWrite,
  kSyncFile,
  kSyncDirectory,
  kRename,
  kRemove
};

struct DiskStep {
  Step step;
  std::uint64_t inode = 0;
  std::string name, to;  // kCreate, kRename, kRemove
  std::string bytes;     // kWrite
  std::size_t length = 0;
};

// What of the unsynced a disk kept when its power went. A killed program loses nothing of it.
enum class Kept : std::uint8_t { kAll, kNothing, kNamesOnly, kBytesOnly };

// Begins, ends and answers with what was recorded since. Names are those of one directory.
void StartRecording();
std::vector<DiskStep> StopRecording();
[[nodiscard]] std::size_t RecordedSteps();

// The n-th step from now on (0: the next) fails with ENOSPC, a write after half of its bytes.
void FailStep(std::size_t n);
void FailNoStep();

// fsync and fdatasync return at once: for tests that never look at what they are for.
void SkipSyncs(bool skip);

// The files after the first `count` steps; of a write after them only its first `partial` bytes.
[[nodiscard]] std::map<std::string, std::string> FilesAfter(const std::vector<DiskStep>& steps,
                                                            std::size_t count,
                                                            std::size_t partial,
                                                            Kept kept);

}  // namespace partita::service::ledger::testing
