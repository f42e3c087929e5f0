#include "service/mig/lock.h"

#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/state_file.h"

namespace partita::service::mig {
namespace {

// A wait inside flock() could not be ended by the flag of a signal handler without a race: a signal
// just before the call would be lost. So it is tried again.
constexpr std::chrono::milliseconds kBetweenTries{50};

bool ShallEnd(const ChangeLock::Request& request) {
  return request.stop != nullptr && request.stop->load();
}

base::Error SayWhoMay(base::Error error) {
  if (error.code() != base::ErrorCode::kDenied) return error;
  return std::move(error).WithHint("only root changes what GPUs are divided into");
}

}  // namespace

std::string RunDirectory() { return base::RunDirectory(); }

base::Error HeldError(const std::string& holder, const std::string& path, bool waited) {
  return base::MakeError(base::ErrorCode::kBusy, "{} is changing this node's GPUs", holder)
      .WithHint(fmt::format("{}; fuser -v {} tells more",
                            waited ? "the wait for it was ended"
                                   : "try again when it is done, or wait for it with --wait",
                            path));
}

base::Result<ChangeLock> ChangeLock::Acquire(const Request& request) {
  base::Result<base::LockFile> file =
      base::LockFile::Open(base::JoinPath(request.directory, "change.lock"));
  if (!file.ok()) return SayWhoMay(std::move(file).error());
  // There is no waiting for a lock and for a signal at once, so it is tried again and again.
  bool told = request.waiting == nullptr;
  for (;;) {
    TRY(ours, file->Try(request.command));
    if (ours) return ChangeLock(*std::move(file));
    if (!request.wait || ShallEnd(request))
      return HeldError(file->Holder(), file->path(), request.wait);
    if (!std::exchange(told, true)) request.waiting(file->Holder());
    std::this_thread::sleep_for(kBetweenTries);
  }
}

}  // namespace partita::service::mig
