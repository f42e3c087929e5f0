#include "service/run/process_view.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <utility>

#include <fmt/format.h>

#include "base/root_dir.h"
#include "base/text.h"
#include "hook/container/proc_view.h"
#include "service/run/afterwards.h"
#include "service/run/dev_view.h"
#include "service/run/device_cgroup.h"
#include "service/run/namespaces.h"

namespace partita::service::run {

namespace {

using base::ErrorCode;
using base::Result;
using partita::cdi::DeviceNode;

bool IsNumbered(std::string_view path, std::string_view prefix) {
  const std::optional<std::string_view> number = base::WithoutPrefix(path, prefix);
  return number && base::ParseUnsigned(*number);
}

hook::InjectedNodes MinorsOf(const Grant& grant) {
  hook::InjectedNodes nodes;
  for (const DeviceNode& node : grant.nodes) {
    const auto minor = static_cast<std::uint32_t>(node.minor);
    if (IsNumbered(node.path, "/dev/nvidia")) nodes.gpus.insert(minor);
    if (IsNumbered(node.path, "/dev/nvidia-caps/nvidia-cap")) nodes.capabilities.insert(minor);
  }
  return nodes;
}

// The one that removes it is outside of it.
Result<void> EnterDeviceCgroup(const Grant& grant) {
  const EndsHeld until_it_is_told;
  TRY(directory, MakeDeviceCgroup(RulesFor(grant.nodes), grant.nodes.size()));
  Result<void> cleared =
      ClearAfterwards({.command = {}, .sign_of_life = "", .tree = "", .directories = {directory}});
  if (!cleared.ok()) rmdir(directory.c_str());
  if (!cleared.ok()) return cleared;
  return EnterCgroup(directory);
}

// Where the working directory is in what is covered, it is not covered for whoever stands in it.
Result<void> LeaveWhatIsCovered() {
  std::array<char, PATH_MAX> text = {};
  if (getcwd(text.data(), text.size()) == nullptr) return {};
  const std::string path = text.data();
  const auto is_in = [&](std::string_view top) {
    return path == top || path.starts_with(fmt::format("{}/", top));
  };
  if (!is_in("/dev") && !is_in("/proc")) return {};
  if (chdir(path.c_str()) == 0 || chdir("/") == 0) return {};
  return base::ErrnoError(fmt::format("leave {}", path));
}

}  // namespace

Result<std::string> EnterView(const Grant& grant) {
  std::string lacks;
  if (geteuid() == 0) {
    const Result<void> entered = EnterDeviceCgroup(grant);
    if (!entered.ok() && entered.error().code() != ErrorCode::kUnavailable) return entered.error();
    if (!entered.ok()) lacks = entered.error().ToString();
  }
  TRY(rights, EnterOwnMounts());
  TRY(root, base::RootDir::Open("/"));
  TRY(proc, hook::HoldProc(root, hook::ViewFor(MinorsOf(grant), hook::ReadHostProc(root))));
  TRY_VOID(ShowDevices(grant.nodes, rights));
  TRY_VOID(hook::ShowProc(root, proc));
  TRY_VOID(LeaveWhatIsCovered());
  TRY_VOID(DropRights(rights));
  return lacks;
}

}  // namespace partita::service::run
