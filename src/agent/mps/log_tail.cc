#include "agent/mps/log_tail.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

namespace partita::agent::mps {
namespace {

// No line of the daemon's is that long.
constexpr std::size_t kLongestLine = std::size_t{64} * 1024;

}  // namespace

LogTail::LogTail(net::Loop& loop, std::function<void(std::string_view line)> line)
    : loop_(loop), line_(std::move(line)) {}

base::Result<void> LogTail::Start(const std::string& path) {
  Stop();
  base::UniqueFd file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return base::ErrnoError("open " + path);
  base::UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.valid() || inotify_add_watch(inotify.get(), path.c_str(), IN_MODIFY) < 0) {
    return base::ErrnoError("watch " + path)
        .WithHint("raise fs.inotify.max_user_instances or fs.inotify.max_user_watches");
  }
  at_ = lseek(file.get(), 0, SEEK_END);
  rest_.clear();
  file_ = std::move(file);
  inotify_ = std::move(inotify);
  watch_ = loop_.NewWatch("mps-log", inotify_.get());
  watch_->OnReadable([this] { Read(); });
  return {};
}

void LogTail::Stop() {
  watch_.reset();
  inotify_.Reset();
  file_.Reset();
}

void LogTail::Read() {
  std::array<char, 4096> buffer;
  while (read(inotify_.get(), buffer.data(), buffer.size()) > 0) {
  }
  // Somebody else may have emptied it, and written since.
  struct stat about {};
  if (fstat(file_.get(), &about) == 0 && about.st_size < at_) at_ = 0;
  ssize_t count = 0;
  while ((count = pread(file_.get(), buffer.data(), buffer.size(), at_)) > 0) {
    at_ += count;
    rest_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  if (at_ > kMostLog && ftruncate(file_.get(), 0) == 0) at_ = 0;
  std::string text = std::exchange(rest_, "");
  std::size_t begin = 0;
  std::vector<std::string> lines;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  if (text.size() - begin < kLongestLine) rest_ = text.substr(begin);
  // Last: whoever hears of a line may stop this.
  for (const std::string& line : lines) line_(line);
}

}  // namespace partita::agent::mps
