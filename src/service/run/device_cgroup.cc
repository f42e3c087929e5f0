#include "service/run/device_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "hook/container/cgroup.h"

namespace partita::service::run {

namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::Result;
using base::UniqueFd;
using hook::DeviceRule;

// Documentation/admin-guide/devices.txt of the kernel.
constexpr DeviceRule kUsual[] = {
    {.major = 1, .minor = 3},           // null
    {.major = 1, .minor = 5},           // zero
    {.major = 1, .minor = 7},           // full
    {.major = 1, .minor = 8},           // random
    {.major = 1, .minor = 9},           // urandom
    {.major = 5, .any_minor = true},    // tty, console, ptmx
    {.major = 136, .any_minor = true},  // pts/*
};

Result<void> WriteTo(const UniqueFd& directory, const char* name, const std::string& text) {
  const UniqueFd file(openat(directory.get(), name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid() || write(file.get(), text.data(), text.size()) < 0)
    return ErrnoError(fmt::format("write \"{}\" to {}", text, name));
  return {};
}

// The kernel takes one rule a write, and refuses what is refused above.
Result<void> RestrictByFile(const UniqueFd& directory,
                            std::span<const DeviceRule> rules,
                            std::size_t needed) {
  TRY_VOID(WriteTo(directory, "devices.deny", "a"));
  for (std::size_t i = 0; i < rules.size(); ++i) {
    Result<void> allowed = WriteTo(directory, "devices.allow", ToString(rules[i]));
    if (!allowed.ok() && i + needed >= rules.size()) {
      return std::move(allowed)
          .error()
          .As(ErrorCode::kConflict)
          .WithHint("this cgroup may not open that device: run it in another one");
    }
  }
  return {};
}

Result<void> Restrict(int version,
                      const std::string& path,
                      std::span<const DeviceRule> rules,
                      std::size_t needed) {
  const UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return ErrnoError(fmt::format("open {}", path));
  if (version == 1) {
    TRY_VOID(RestrictByFile(directory, rules, needed), "{}", path);
    return {};
  }
  TRY_VOID(hook::AllowOnlyByFilter(directory.get(), rules), "{}", path);
  return {};
}

Result<std::string> MakeBelowOwn(std::span<const DeviceRule> rules, std::size_t needed) {
  TRY(mountinfo, base::ReadFile("/proc/self/mountinfo"));
  TRY(lines, base::ReadFile("/proc/self/cgroup"));
  TRY(own, hook::FindDeviceCgroup(mountinfo, lines));
  // A number alone is somebody else's too, in another PID namespace or before.
  std::string path = base::JoinPath(own.directory, fmt::format("partita-run-{}-XXXXXX", getpid()));
  if (mkdtemp(path.data()) == nullptr) return ErrnoError(fmt::format("make the cgroup {}", path));
  Result<void> restricted = Restrict(own.version, path, rules, needed);
  if (restricted.ok()) return path;
  rmdir(path.c_str());
  return std::move(restricted).error();
}

}  // namespace

std::vector<DeviceRule> RulesFor(std::span<const partita::cdi::DeviceNode> nodes) {
  std::vector<DeviceRule> rules(std::begin(kUsual), std::end(kUsual));
  for (const partita::cdi::DeviceNode& node : nodes) {
    rules.push_back({.major = static_cast<std::uint32_t>(node.major),
                     .minor = static_cast<std::uint32_t>(node.minor)});
  }
  return rules;
}

Result<std::string> MakeDeviceCgroup(std::span<const DeviceRule> rules, std::size_t needed) {
  Result<std::string> made = MakeBelowOwn(rules, needed);
  if (made.ok() || made.error().code() == ErrorCode::kConflict) return made;
  return std::move(made).error().As(ErrorCode::kUnavailable);
}

Result<void> EnterCgroup(const std::string& directory) {
  const UniqueFd opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.valid()) return ErrnoError(fmt::format("open {}", directory));
  TRY_VOID(WriteTo(opened, "cgroup.procs", "0"), "{}", directory);
  return {};
}

}  // namespace partita::service::run
