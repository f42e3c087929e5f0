// Who holds a device, and what that makes of it. Whether it works is another matter, and not here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace partita::service::ledger {

enum class DeviceState : std::uint8_t {
  kFree,
  kReserved,  // given, its holder not yet seen
  kHeld,
  kClosing,  // withdrawn, waits for its holders
  kLocked,   // an operation owns it
};
[[nodiscard]] std::string_view ToString(DeviceState state);

// A container of a pod. kubelet does not say whose an allocation is: until that is learnt, all but
// the resource is empty.
struct Pod {
  std::string pod_namespace, name, container;
  std::string resource;  // "nvidia.com/gpu"
  bool operator==(const Pod&) const = default;
};
struct ClaimName {
  std::string uid, claim_namespace, name;
  bool operator==(const ClaimName&) const = default;
};
struct Operation {
  std::string plan;  // its id
  bool operator==(const Operation&) const = default;
};
struct Vm {
  std::string name;
  std::string resource;
  bool operator==(const Vm&) const = default;
};
// A process, or a MIG instance that nobody asked us for.
struct Foreign {
  std::string what;
  bool operator==(const Foreign&) const = default;
};
using Owner = std::variant<Pod, ClaimName, Operation, Vm, Foreign>;

// "pod default/train (main)", "a pod not yet seen (nvidia.com/gpu)", "claim default/training
// (uid)", "operation 7", "virtual machine db", "pid 4711 (python3)".
[[nodiscard]] std::string ToString(const Owner& owner);

}  // namespace partita::service::ledger
