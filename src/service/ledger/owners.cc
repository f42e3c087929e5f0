#include "service/ledger/owners.h"

#include <fmt/format.h>

#include "base/result.h"

namespace partita::service::ledger {
namespace {

std::string OwnerText(const Pod& pod) {
  if (pod.name.empty()) return fmt::format("a pod not yet seen ({})", pod.resource);
  return fmt::format("pod {}/{} ({})", pod.pod_namespace, pod.name, pod.container);
}
std::string OwnerText(const ClaimName& claim) {
  return fmt::format("claim {}/{} ({})", claim.claim_namespace, claim.name, claim.uid);
}
std::string OwnerText(const Operation& operation) {
  return fmt::format("operation {}", operation.plan);
}
std::string OwnerText(const Vm& vm) {
  if (vm.name.empty()) return fmt::format("a virtual machine not yet seen ({})", vm.resource);
  return fmt::format("virtual machine {}", vm.name);
}
std::string OwnerText(const Foreign& foreign) { return foreign.what; }

}  // namespace

std::string_view ToString(DeviceState state) {
  switch (state) {
    case DeviceState::kFree: return "free";
    case DeviceState::kReserved: return "reserved";
    case DeviceState::kHeld: return "held";
    case DeviceState::kClosing: return "closing";
    case DeviceState::kLocked: return "locked";
  }
  base::CheckFailed("a state of the list", __FILE__, __LINE__);
}

std::string ToString(const Owner& owner) {
  return std::visit([](const auto& one) { return OwnerText(one); }, owner);
}

}  // namespace partita::service::ledger
