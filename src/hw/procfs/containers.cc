#include "hw/procfs/containers.h"

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace partita::hw::procfs {
namespace {

using model::Container;

constexpr std::string_view kPodLogs = "var/log/pods";
constexpr std::string_view kContainerLogs = "var/log/containers";
constexpr std::size_t kIdLength = 64;
// Of an id that the kubelet had to cut: as much as the runtimes' own tools ask for.
constexpr std::size_t kShortestId = 12;
constexpr std::size_t kLongestUid = 64;
constexpr std::size_t kLongestName = 253;  // of a DNS subdomain
// Far more than a node has pods (the kubelet's default is 110): against a folder full of rubbish.
constexpr std::size_t kMostEntries = 20'000;

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Lower-case letters, digits, dots and dashes: what Kubernetes allows in names.
bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

// A UUID, or of a pod from a file the hash of its manifest.
bool IsUid(std::string_view text) {
  return !text.empty() && text.size() <= kLongestUid &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-';
         });
}

std::string_view WithoutSuffix(std::string_view text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return text;
}

// "<id>", "crio-<id>", "cri-containerd-<id>.scope".
std::string IdIn(std::string_view piece) {
  piece = WithoutSuffix(piece, ".scope");
  piece.remove_prefix(piece.rfind('-') + 1);  // npos + 1 is 0
  return piece.size() == kIdLength && IsHex(piece) ? std::string(piece) : "";
}

// "pod<uid>" below "kubepods", or "kubepods-burstable-pod<uid, _ for ->.slice".
std::string PodUidIn(std::string_view piece, bool below_kubepods) {
  std::string uid;
  if (piece.ends_with(".slice")) {
    const std::size_t pod = piece.rfind("-pod");
    if (pod == std::string_view::npos || piece.find("kubepods-") > pod) return "";
    uid = WithoutSuffix(piece.substr(pod + 4), ".slice");
    std::replace(uid.begin(), uid.end(), '_', '-');
  } else if (below_kubepods && piece.starts_with("pod")) {
    uid = piece.substr(3);
  }
  return IsUid(uid) ? uid : "";
}

// The pod nearest to the root and what is in it: a node within a pod has pods of its own, of which
// the kubelet out here knows nothing.
Container ParseCgroupPath(std::string_view path) {
  Container container;
  bool below_kubepods = false;
  for (const std::string_view part : base::Split(WithoutSuffix(path, " (deleted)"), '/')) {
    // Under cgroupfs, containerd keeps systemd's spelling as one name:
    // "<slice>:cri-containerd:<id>".
    for (const std::string_view piece : base::Split(part, ':')) {
      if (container.pod_uid.empty()) {
        container.pod_uid = PodUidIn(piece, below_kubepods);
        // An id above the pod is that of a machine in a container.
        if (!container.pod_uid.empty()) container.id.clear();
      }
      if (container.id.empty()) container.id = IdIn(piece);
      below_kubepods |= piece == "kubepods";
    }
  }
  return container;
}

int Worth(const Container& container) {
  return (container.pod_uid.empty() ? 0 : 2) + (container.id.empty() ? 0 : 1);
}

// Names in no order, without hidden ones; a folder that cannot be read has none.
std::vector<std::string> Entries(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  std::vector<std::string> names;
  if (!directory) return names;
  while (names.size() < kMostEntries) {
    const dirent* entry = readdir(directory.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

}  // namespace

std::optional<Container> ParseCgroup(std::string_view text) {
  Container best;
  for (std::string_view line : base::SplitLines(text)) {
    // "<hierarchy>:<controllers>:<path>"; controllers are without colons.
    for (int field = 0; field < 2; ++field) {
      line.remove_prefix(std::min(line.find(':'), line.size()));
      line.remove_prefix(std::min<std::size_t>(1, line.size()));
    }
    Container container = ParseCgroupPath(line);
    if (Worth(container) > Worth(best)) best = std::move(container);
  }
  if (Worth(best) == 0) return std::nullopt;
  return best;
}

std::optional<Container> ParsePodFolder(std::string_view name) {
  const std::vector<std::string_view> parts = base::Split(name, '_');
  if (parts.size() != 3 || !IsName(parts[0]) || !IsName(parts[1]) || !IsUid(parts[2])) {
    return std::nullopt;
  }
  Container pod;
  pod.pod_namespace = parts[0];
  pod.pod_name = parts[1];
  pod.pod_uid = parts[2];
  return pod;
}

std::optional<Container> ParseContainerLog(std::string_view name) {
  if (!name.ends_with(".log")) return std::nullopt;
  const std::vector<std::string_view> parts = base::Split(WithoutSuffix(name, ".log"), '_');
  if (parts.size() != 3) return std::nullopt;
  const std::size_t dash = parts[2].rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view container = parts[2].substr(0, dash), id = parts[2].substr(dash + 1);
  if (!IsName(parts[0]) || !IsName(parts[1]) || !IsName(container)) return std::nullopt;
  if (id.size() < kShortestId || id.size() > kIdLength || !IsHex(id)) return std::nullopt;
  Container log;
  log.id = id;
  log.name = container;
  log.pod_name = parts[0];
  log.pod_namespace = parts[1];
  return log;
}

std::optional<Container> ContainerReader::Of(model::Pid pid) {
  if (pid.value() <= 0) return std::nullopt;
  const base::Result<std::string> text =
      base::ReadFile(base::JoinPath(root_, fmt::format("proc/{}/cgroup", pid)));
  if (!text.ok()) return std::nullopt;
  std::optional<Container> container = ParseCgroup(*text);
  if (container) LookUp(*container);
  return container;
}

void ContainerReader::LookUp(Container& container) {
  if (!std::exchange(read_, true)) ReadFolders();
  const auto pod = pods_.find(container.pod_uid);
  if (pod != pods_.end()) {
    container.pod_namespace = pod->second.pod.pod_namespace;
    container.pod_name = pod->second.pod.pod_name;
  }
  if (container.id.empty()) return;
  // The last key that is not behind the id: the id itself or, if there is one, its start.
  auto log = logs_.upper_bound(container.id);
  if (log != logs_.begin() && container.id.starts_with((--log)->first)) {
    container.name = log->second.name;
    if (pod == pods_.end()) {
      container.pod_namespace = log->second.pod_namespace;
      container.pod_name = log->second.pod_name;
    }
  } else if (pod != pods_.end()) {
    container.name = OnlyContainerOf(pod->second.name);
  }
}

void ContainerReader::ReadFolders() {
  for (std::string& name : Entries(base::JoinPath(root_, kPodLogs))) {
    if (std::optional<Container> pod = ParsePodFolder(name)) {
      const std::string uid = pod->pod_uid;
      pods_.insert_or_assign(uid, Folder{std::move(name), *std::move(pod)});
    }
  }
  for (const std::string& name : Entries(base::JoinPath(root_, kContainerLogs))) {
    if (std::optional<Container> log = ParseContainerLog(name)) {
      const std::string id = log->id;
      logs_.insert_or_assign(id, *std::move(log));
    }
  }
}

// The kubelet makes a container's folder before the container, so that a single one says which it
// is.
std::string ContainerReader::OnlyContainerOf(const std::string& folder) const {
  const std::vector<std::string> names =
      Entries(base::JoinPath(root_, fmt::format("{}/{}", kPodLogs, folder)));
  return names.size() == 1 && IsName(names.front()) ? names.front() : "";
}

}  // namespace partita::hw::procfs
