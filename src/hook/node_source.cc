#include "hook/node_source.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/files.h"
#include "base/json.h"
#include "base/root_dir.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::hook {
namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::MakeError;
using base::UniqueFd;

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

// Opened once: what is looked at is what is read.
base::Result<std::string> ReadOwnedByRoot(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return ErrnoError(fmt::format("open {}", path));
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return ErrnoError(fmt::format("look at {}", path));
  if (!S_ISREG(about.st_mode) || about.st_uid != 0 || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return MakeError(ErrorCode::kDenied, "{} is not a file that only root can write", path);
  TRY(readable, base::Reopen(file, O_RDONLY | O_NONBLOCK), "open {}", path);
  std::string bytes;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = read(readable.get(), buffer.data(), buffer.size());
    if (count < 0) return ErrnoError(fmt::format("read {}", path));
    if (count == 0) break;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (bytes.size() > kMostBytes)
      return MakeError(ErrorCode::kInvalid, "{} has more than {} bytes", path, kMostBytes);
  }
  return bytes;
}

// The agent holds its lock as long as it lives. A user who may not open it cannot tell.
base::Result<void> CheckAgentLives(const std::string& path) {
  const UniqueFd lock(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!lock.valid() && errno == EACCES) return {};
  if (!lock.valid()) return ErrnoError(fmt::format("open {}", path));
  if (flock(lock.get(), LOCK_SH | LOCK_NB) != 0) return {};
  // Given back before an agent that starts notices: it tries again for a moment.
  flock(lock.get(), LOCK_UN);
  return MakeError(ErrorCode::kUnavailable, "no agent holds {}", path);
}

base::Result<void> CheckNode(const base::RootDir& host, const cdi::DeviceNode& node) {
  const std::string path = node.host_path.empty() ? node.path : node.host_path;
  TRY(facts, host.Look(path));
  const bool same = facts.IsCharDevice() &&
                    gnu_dev_major(facts.device) == static_cast<std::uint64_t>(node.major) &&
                    gnu_dev_minor(facts.device) == static_cast<std::uint64_t>(node.minor);
  if (same) return {};
  return MakeError(ErrorCode::kConflict, "{} is no longer the device {}:{}", path, node.major,
                   node.minor);
}

base::Result<void> CheckFresh(const cdi::NodeDevices& node, const NodeSource& source) {
  TRY(host, base::RootDir::Open(source.host_root));
  TRY(version, host.Read("/proc/driver/nvidia/version", 65536));
  if (!IsOfDriver(version, node.driver_version))
    return MakeError(ErrorCode::kConflict, "it is of driver {}, and another one is loaded",
                     node.driver_version);
  TRY_VOID(CheckAgentLives(base::JoinPath(source.run_directory, "agent.lock")));
  for (const cdi::DeviceNode& each : node.control_nodes) TRY_VOID(CheckNode(host, each));
  for (const cdi::Device& device : node.spec.devices) {
    for (const cdi::DeviceNode& each : device.edits.device_nodes) TRY_VOID(CheckNode(host, each));
  }
  return {};
}

base::Result<void> CheckRoot(const cdi::NodeDevices& node, const NodeSource& source) {
  const auto plain = [](const std::string& root) { return root.empty() ? "/" : root; };
  if (source.driver_root.empty() || plain(node.driver_root) == plain(source.driver_root)) return {};
  return MakeError(ErrorCode::kConflict, "it is of the driver below {}, and not of {}",
                   plain(node.driver_root), source.driver_root);
}

base::Result<cdi::NodeDevices> Parse(std::string_view text) {
  TRY(value, base::ParseJson(text));
  return cdi::NodeDevicesFrom(value);
}

base::Result<std::string> PartitaOf(const NodeSource& source) {
  if (!source.partita.empty()) return source.partita;
  TRY(self, base::ReadLink("/proc/self/exe"));
  return fmt::format("{}/partita", self.substr(0, self.rfind('/')));
}

}  // namespace

bool IsOfDriver(std::string_view version_text, std::string_view driver_version) {
  const std::vector<std::string_view> lines = base::SplitLines(version_text);
  if (lines.empty() || driver_version.empty()) return false;
  const std::vector<std::string_view> words = base::SplitWords(lines.front());
  return std::find(words.begin(), words.end(), driver_version) != words.end();
}

base::Result<cdi::NodeDevices> ReadPublished(const NodeSource& source) {
  const std::string path = base::JoinPath(source.run_directory, "devices.json");
  TRY(text, ReadOwnedByRoot(path));
  TRY(node, Parse(text), "{}", path);
  TRY_VOID(CheckRoot(node, source), "{}", path);
  TRY_VOID(CheckFresh(node, source), "{}", path);
  return node;
}

base::Result<std::string> CallPartita(const NodeSource& source,
                                      std::vector<std::string> arguments) {
  TRY(program, PartitaOf(source));
  if (!source.driver_root.empty()) {
    arguments.emplace_back("--driver-root");
    arguments.push_back(source.driver_root);
  }
  base::Subprocess order;
  order.arguments = {program};
  order.arguments.insert(order.arguments.end(), arguments.begin(), arguments.end());
  order.environment = std::vector<std::string>();
  order.directory = std::string(1, '/');
  order.limit = std::chrono::seconds(30);
  order.most_output = kMostBytes;
  const std::string called = base::Join(order.arguments, " ");
  TRY(ran, base::Run(order), "{}", called);
  // Warnings come in lines before it.
  const std::vector<std::string_view> lines = base::SplitLines(ran.output);
  if (!ran.Succeeded()) {
    return MakeError(ErrorCode::kUnavailable, "{} {}: {}", called, ran.Describe(),
                     lines.empty() ? "it said nothing" : lines.front());
  }
  return std::string(lines.empty() ? "" : lines.back());
}

base::Result<cdi::NodeDevices> AskPartita(const NodeSource& source) {
  TRY(text, CallPartita(source, {"cdi", "jit"}));
  TRY(program, PartitaOf(source));
  TRY(node, Parse(text), "{} cdi jit", program);
  return node;
}

base::Result<cdi::NodeDevices> ReadNode(
    const NodeSource& source, const std::function<bool(const cdi::NodeDevices&)>& has_all) {
  base::Result<cdi::NodeDevices> published = ReadPublished(source);
  if (published.ok() && has_all(*published)) return published;
  base::Result<cdi::NodeDevices> asked = AskPartita(source);
  if (asked.ok()) return asked;
  const std::string reason =
      published.ok() ? "it lacks what is asked for" : published.error().ToString();
  return MakeError(ErrorCode::kUnavailable, "what GPUs this machine has is not known: {}; {}",
                   reason, asked.error().ToString())
      .WithHint("partita doctor looks for the cause");
}

}  // namespace partita::hook
