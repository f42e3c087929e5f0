#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"
#include "sim/load/node_file.h"
#include "sim/state/render.h"
#include "sim/state/store.h"
#include "sim/state/time.h"
#include "sim/tool/building.h"
#include "sim/tool/commands.h"
#include "sim/tool/dmi.h"
#include "sim/tool/driver_files.h"
#include "sim/tool/nodes.h"
#include "sim/tool/own_folders.h"
#include "sim/tool/pci_tree.h"

namespace partita::sim::tool {
namespace {

using base::ErrorCode;

base::Result<load::DataFile> ReadNodeFile(const std::string& path) {
  TRY(text, base::ReadFile(path));
  std::string name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  return load::DataFile{base::ToLower(name), path, std::move(text)};
}

base::Result<load::DataFile> ChooseFile(const base::Invocation& invocation,
                                        const load::Catalog& catalog) {
  const std::optional<std::string> path = invocation.Get("file");
  const bool profile_given = !invocation.arguments().empty();
  if (path.has_value() == profile_given) {
    return base::MakeError(ErrorCode::kInvalid, "{}",
                           profile_given ? "a PROFILE and --file were given: which one?"
                                         : "which machine? Give a PROFILE or --file")
        .WithHint("partita-sim profiles lists the ready-made ones");
  }
  if (path) return ReadNodeFile(*path);
  const std::string& profile = invocation.arguments().front();
  if (const load::DataFile* file = catalog.FindNode(profile)) return *file;
  const std::vector<std::string> names = load::Names(catalog.nodes());
  const std::string near = base::DidYouMean(profile, names);
  return base::MakeError(ErrorCode::kNotFound, "unknown profile {}", base::Quoted(profile))
      .WithHint(near.empty() ? "known are " + base::JoinWithOr(names)
                             : "did you mean " + base::Quoted(near) + "?");
}

// Simulated GPUs beside real ones would mislead every program on the machine.
base::Result<void> CheckMachine() {
  if (InsideView()) {
    return base::MakeError(ErrorCode::kConflict, "this is a simulated node already")
        .WithHint("bring nodes up outside of partita-sim run and shell");
  }
  for (const char* path : {"/proc/driver/nvidia/version", "/sys/module/nvidia"}) {
    if (base::Exists(path)) {
      return base::MakeError(ErrorCode::kConflict,
                             "a real NVIDIA driver is loaded here ({} exists)", path)
          .WithHint("simulate on a machine without it");
    }
  }
  if (geteuid() != 0) {
    return base::MakeError(ErrorCode::kDenied, "a node needs device nodes and mounts")
        .WithHint("run this as root");
  }
  return {};
}

// Simulated time starts at the time of day and runs.
void StartClock(Slot& slot) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  slot.clock.frozen = 0;
  slot.clock.base_ns = static_cast<std::uint64_t>(now.tv_sec) * kNanosPerSecond +
                       static_cast<std::uint64_t>(now.tv_nsec);
  slot.clock.monotonic_ns = MonotonicNow();
  slot.booted_ns = slot.driver_loaded_ns = slot.clock.base_ns;
}

base::Result<void> MakeState(const std::string& root,
                             const load::LoadedNode& node,
                             const load::DataFile& file) {
  TRY_VOID(base::MakeDirectories(root + "/sim", 0755));
  TRY_VOID(base::MakeDirectories(root + "/proc", 0755));
  TRY_VOID(base::WriteFile(root + "/sim/node.yaml", file.text, 0644));
  TRY_VOID(base::WriteFile(root + "/sim/holders", "", 0666));
  if (chmod((root + "/sim/holders").c_str(), 0666) != 0) {
    return base::ErrnoError("set the mode of " + root + "/sim/holders");
  }
  const std::string state = root + "/sim/state";
  if (const int error = Create(state.c_str(), *node.machine, *node.slot); error != 0) {
    return base::ErrnoError("make " + state, error);
  }
  if (const int error = RenderDriverFiles(root.c_str(), *node.machine, *node.slot); error != 0) {
    return base::ErrnoError("make the driver's files under " + root, error);
  }
  return {};
}

base::Result<void> Up(const base::Invocation& invocation) {
  TRY(catalog, ChooseCatalog(invocation));
  TRY(file, ChooseFile(invocation, catalog));
  TRY(node, load::LoadNode(file, catalog, invocation.Get("node").value_or("")));
  TRY_VOID(CheckMachine());
  TRY(parts, FindParts());
  StartClock(*node.slot);

  const std::string name = node.machine->node;
  const std::string directory = NodesDirectory();
  if (base::Exists(base::JoinPath(directory, name))) {
    return base::MakeError(ErrorCode::kConflict, "node {} is up already", base::Quoted(name))
        .WithHint(fmt::format("take it down first (partita-sim down --node {}), or choose another "
                              "name with --node",
                              name));
  }
  TRY(scaffold, Scaffold::Start(directory, name));
  const std::string& root = scaffold.path();
  TRY_VOID(MakeDriverFiles(root, node.machine->driver_version, parts), "node {}", name);
  TRY_VOID(MakeDeviceDirectory(root), "node {}", name);
  TRY_VOID(MakePciTree(root, node), "node {}", name);
  TRY_VOID(MakeDmi(root, node), "node {}", name);
  TRY_VOID(MakeOwnFolders(root), "node {}", name);
  TRY_VOID(MakeState(root, node, file), "node {}", name);
  TRY_VOID(scaffold.Publish());
  fmt::print("node {} is up: {} GPU{}, driver {}, in {}\n", name, node.machine->gpu_count,
             node.machine->gpu_count == 1 ? "" : "s", node.machine->driver_version,
             base::JoinPath(directory, name));
  return {};
}

}  // namespace

int RunUp(const base::Invocation& invocation) { return Finish(Up(invocation)); }

}  // namespace partita::sim::tool
