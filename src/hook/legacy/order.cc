#include "hook/legacy/order.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "cdi/name.h"
#include "hook/container/proc_view.h"
#include "request/device_id.h"

namespace partita::hook {
namespace {

constexpr std::array<std::string_view, 2> kKinds = {"nvidia.com/gpu", "runtime.nvidia.com/gpu"};

// "0:1" of "nvidia.com/gpu=0:1"; what has no kind is a name already.
base::Result<std::string> PlainName(const std::string& id) {
  const base::Result<cdi::QualifiedName> qualified = cdi::ParseName(id);
  if (!qualified.ok()) return id;
  const std::string kind = qualified->vendor + '/' + qualified->klass;
  if (std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end()) return qualified->name;
  return base::MakeError(base::ErrorCode::kUnsupported,
                         "{}: the prestart hook has no devices of {}", base::Quoted(id), kind)
      .WithHint("let the engine resolve CDI devices, or use nvidia-container-runtime");
}

}  // namespace

base::Result<std::vector<const cdi::DeviceRow*>> FindDevices(const request::Request& request,
                                                             const cdi::NodeDevices& node) {
  std::vector<std::string> names;
  bool all = request.kind == request::Kind::kAll;
  for (const std::string& id : request.devices) {
    TRY(name, PlainName(id));
    all = all || name == "all";
    names.push_back(std::move(name));
  }
  if (!all && request.kind == request::Kind::kDevices) return request::Resolve(names, node);
  std::vector<const cdi::DeviceRow*> rows;
  if (!all) return rows;
  for (const cdi::DeviceRow& row : node.rows) rows.push_back(&row);
  return rows;
}

LegacyOrder OrderFor(const request::Request& request,
                     const std::vector<const cdi::DeviceRow*>& devices,
                     std::string_view proc_devices) {
  LegacyOrder order;
  for (const cdi::DeviceRow* row : devices) order.devices.push_back(*row);
  order.capabilities = request.capabilities;
  order.mig_config = request.mig_config;
  order.mig_monitor = request.mig_monitor;
  // Numbers of 32 bits: whoever read the request has seen to it.
  for (const std::string& channel : request.imex_channels)
    order.imex_channels.push_back(
        static_cast<std::uint32_t>(base::ParseUnsigned(channel).value_or(0)));
  order.imex_major = MajorOf(proc_devices, "nvidia-caps-imex-channels");
  return order;
}

}  // namespace partita::hook
