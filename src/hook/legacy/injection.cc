#include "hook/legacy/injection.h"

#include <utility>
#include <vector>

#include "base/files.h"
#include "hook/container/image_facts.h"
#include "hook/container/namespaces.h"
#include "hook/container/proc_view.h"
#include "hook/legacy/carry_out.h"
#include "hook/legacy/order.h"
#include "hook/legacy/plan.h"
#include "hook/node_source.h"
#include "hook/start.h"
#include "request/require.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;

base::Result<ImageFacts> LookInside(const LegacyRoot& root) {
  TRY(opened, OpenLegacyRoot(root));
  return ReadImageFacts(opened);
}

// The root is where the container's own namespace has it; a daemon's may have nothing there.
base::Result<ImageFacts> LookAtImage(const LegacyCall& call) {
  TRY(own, MountNamespace::Own());
  TRY(inside, MountNamespace::Of(call.pid), "the container's process");
  TRY_VOID(inside.Enter());
  base::Result<ImageFacts> image = LookInside(call.root);
  TRY_VOID(own.Enter());
  return image;
}

base::Result<void> CheckNeeds(const LegacyCall& call,
                              const cdi::NodeDevices& node,
                              const std::vector<const cdi::DeviceRow*>& devices,
                              const Report& report) {
  std::vector<std::string> warnings;
  base::Result<void> met = request::CheckTexts(call.request.requirements,
                                               request::PropertiesOf(node, devices), &warnings);
  for (const std::string& warning : warnings) report.Warning(warning);
  return met;
}

}  // namespace

base::Result<void> InjectLegacy(const LegacyCall& call, const Report& report) {
  if (call.pid <= 0) return MakeError(ErrorCode::kInvalid, "the container has no process");
  if (call.request.capability_error) return *call.request.capability_error;
  NodeSource source;
  source.driver_root = call.driver_root;
  const auto has_all = [&](const cdi::NodeDevices& node) {
    return FindDevices(call.request, node).ok();
  };
  TRY(node, ReadNode(source, has_all));
  // From here on the image is looked at. The program that told of the GPUs has ended: it loads the
  // driver's library, and would have been limited too.
  LimitWork();
  TRY(devices, FindDevices(call.request, node));
  TRY_VOID(CheckNeeds(call, node, devices, report));
  TRY(host, base::RootDir::Open("/"));
  TRY(numbers, base::ReadFile("/proc/devices"));
  LegacyOrder order = OrderFor(call.request, devices, numbers);
  order.bind_nodes = call.bind_nodes;
  TRY(image, LookAtImage(call));
  TRY(plan, PlanLegacy(order, node, ReadHostProc(host), image));
  LegacyContainer container{call.pid, call.root, call.ldconfig, call.cgroups};
  if (call.cuda_compat) {
    CompatOptions compat;
    compat.host_driver = node.driver_version;
    container.compat = std::move(compat);
  }
  return CarryOut(plan, container, report);
}

}  // namespace partita::hook
