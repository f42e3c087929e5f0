// Which container and pod a process is in, from the node's files alone: neither the container
// runtime nor the API server is asked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/ids.h"
#include "model/inventory.h"

namespace partita::hw::procfs {

// From the text of /proc/<pid>/cgroup, of either version. Ids and the pod's UID alone; names are
// elsewhere. Nothing when no line is of a container.
[[nodiscard]] std::optional<model::Container> ParseCgroup(std::string_view text);

// A folder of /var/log/pods: "<namespace>_<pod>_<uid>". Nothing when it is not one: a name that
// Kubernetes would not give is not passed on.
[[nodiscard]] std::optional<model::Container> ParsePodFolder(std::string_view name);

// A link of /var/log/containers: "<pod>_<namespace>_<container>-<id>.log". The kubelet cuts long
// names at the end, and with them the id.
[[nodiscard]] std::optional<model::Container> ParseContainerLog(std::string_view name);

// The containers of processes below `root`, with the names that the kubelet's log folders give. The
// folders are read when the first container is met, and what they lack stays unknown.
class ContainerReader {
 public:
  explicit ContainerReader(std::string root) : root_(std::move(root)) {}

  // Nothing when the process is in none, is gone or is hidden from us.
  [[nodiscard]] std::optional<model::Container> Of(model::Pid pid);

 private:
  void LookUp(model::Container& container);
  void ReadFolders();
  [[nodiscard]] std::string OnlyContainerOf(const std::string& folder) const;

  std::string root_;
  bool read_ = false;
  struct Folder {
    std::string name;
    model::Container pod;
  };
  std::map<std::string, Folder> pods_;            // by UID
  std::map<std::string, model::Container> logs_;  // by container id, or the start of one
};

}  // namespace partita::hw::procfs
