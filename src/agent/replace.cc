#include "agent/replace.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"

namespace partita::agent {
namespace {

std::vector<std::string> Names(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  while (open) {
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Ours are made so already; of what libraries opened nobody knows.
void KeepDescriptorsFromTheNext() {
  for (const std::string& name : Names("/proc/self/fd")) {
    int fd = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), fd);
    if (read.ec == std::errc() && fd > STDERR_FILENO) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}

}  // namespace

base::Result<Invoked> Invoked::Now() {
  Invoked invoked;
  TRY(line, base::ReadFile("/proc/self/cmdline"));
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find('\0', at), line.size());
    invoked.arguments.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  for (char** each = environ; each != nullptr && *each != nullptr; ++each)
    invoked.environment.emplace_back(*each);
  return invoked;
}

std::vector<std::string> UnkillableThreads(const std::string& tasks) {
  std::vector<std::string> threads;
  for (const std::string& id : Names(tasks)) {
    // "4711 (name, which may have brackets) D …"; one that ended meanwhile is none.
    const base::Result<std::string> stat = base::ReadFile(base::JoinPath(tasks, id + "/stat"));
    if (!stat.ok()) continue;
    const std::size_t open = stat->find('('), close = stat->rfind(')');
    if (open == std::string::npos || close == std::string::npos || close + 2 >= stat->size())
      continue;
    if ((*stat)[close + 2] == 'D')
      threads.push_back(fmt::format("{} {}", id, stat->substr(open, close - open + 1)));
  }
  return threads;
}

base::Error ReplaceThisProcess(const Invoked& invoked) {
  KeepDescriptorsFromTheNext();
  execve("/proc/self/exe", Pointers(invoked.arguments).data(),
         Pointers(invoked.environment).data());
  return base::ErrnoError("execute /proc/self/exe");
}

}  // namespace partita::agent
