// /proc/driver/nvidia as a container sees it: of what it was given, and no more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root_dir.h"
#include "base/unique_fd.h"

namespace partita::hook {

inline constexpr char kDriverProc[] = "/proc/driver/nvidia";

// The driver's parameters with ModifyDeviceFiles set to 0, so that its libraries make no nodes;
// nothing where it is 0 already or not told.
[[nodiscard]] std::optional<std::string> ProtectedParams(std::string_view params);

struct ProcView {
  std::vector<std::string> gpus;    // names in gpus/: "0000:3b:00.0"
  std::vector<std::string> access;  // files below capabilities/: "gpu0/mig/gi1/access"
  bool all_capabilities = false;    // the whole of capabilities/ instead
  bool operator==(const ProcView&) const = default;
};

// The number of a character device in the text of /proc/devices; nothing where it is not listed.
[[nodiscard]] std::optional<std::uint32_t> MajorOf(std::string_view proc_devices,
                                                   std::string_view name);

// What the host's driver shows, by the numbers of its device nodes.
struct HostProc {
  std::optional<std::uint32_t> caps_major;    // of nvidia-caps; older drivers have none
  std::map<std::uint32_t, std::string> gpus;  // minor of /dev/nvidia<N>: name in gpus/
  std::vector<std::pair<std::string, std::uint32_t>> access;  // file, minor of its capability node
};
// `host` is the host's root directory.
[[nodiscard]] HostProc ReadHostProc(const base::RootDir& host);
// Without `access`: the files of all instances need not be read for a container that has none.
[[nodiscard]] HostProc ReadHostGpus(const base::RootDir& host);

// Minors of the driver's nodes in a container's /dev and /dev/nvidia-caps. Numbers alone decide: a
// name is whatever an image likes, and neither directory may be a link.
struct InjectedNodes {
  std::set<std::uint32_t> gpus;
  std::set<std::uint32_t> capabilities;
  bool operator==(const InjectedNodes&) const = default;
};
[[nodiscard]] InjectedNodes ReadInjectedNodes(const base::RootDir& root,
                                              std::optional<std::uint32_t> caps_major);

[[nodiscard]] ProcView ViewFor(const InjectedNodes& nodes, const HostProc& host);

// What a view shows, held: texts of the host's files, and its trees by descriptor.
struct HeldProc {
  std::vector<std::pair<std::string, std::string>> texts;  // name, bytes
  struct Tree {
    std::string path;  // below the directory
    bool directory = false;
    base::UniqueFd tree;
  };
  std::vector<Tree> trees;
};
[[nodiscard]] base::Result<HeldProc> HoldProc(const base::RootDir& host, const ProcView& view);

// A container's /proc, seen to be procfs (kDenied): below anything else an image could have links,
// and what is mounted there would cover something of its own.
[[nodiscard]] base::Result<base::RootDir> OpenProc(const base::RootDir& root);

// Covers the container's /proc/driver/nvidia with a read-only file system in memory that has copies
// of params (protected), version and registry, and the view's directories and files of the host.
// Nothing where the host has no driver; where it has one, a container without such a directory is
// an error: what is mounted there later would show everything.
[[nodiscard]] base::Result<void> ShowProc(const base::RootDir& root, const HeldProc& held);

}  // namespace partita::hook
