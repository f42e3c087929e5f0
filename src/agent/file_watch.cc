#include "agent/file_watch.h"

#include <filesystem>
#include <utility>

namespace partita::agent {
namespace {

// An editor's several steps are one change.
constexpr std::chrono::milliseconds kFileSettles{100};

}  // namespace

FileWatch::FileWatch(net::Loop& loop, std::string name)
    : loop_(loop), name_(std::move(name)), settles_(loop.NewTimer(name_ + "-settles")) {}

base::Result<void> FileWatch::Start(const std::string& path, net::Task changed) {
  changed_ = std::move(changed);
  TRY(paths, hw::watch::Paths::Open(hw::watch::Paths::Of::kNamesAndContents));
  const std::filesystem::path directory =
      std::filesystem::absolute(path).lexically_normal().parent_path();
  TRY_VOID(paths.Watch(directory.string()));
  paths_.emplace(std::move(paths));
  watch_ = loop_.NewWatch(name_, paths_->fd());
  watch_->OnReadable([this] {
    // Not put off by every further one: somebody may never rest.
    if (!paths_->Read().empty() && !settles_->armed()) settles_->After(kFileSettles, changed_);
  });
  return {};
}

void FileWatch::Stop() {
  settles_->Cancel();
  watch_.reset();
  paths_.reset();
}

}  // namespace partita::agent
