// How kubelet calls what the ledger knows.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "model/inventory.h"
#include "service/ledger/devices.h"

namespace partita::service::device_plugin {

// "GPU-…", "MIG-…", either with "::2" or "::small-2"; the address of a GPU under vfio.
[[nodiscard]] std::string IdOf(const ledger::Device& device);

// An id that anybody may have sent, for a message: 64 bytes of it, and nothing that moves a cursor.
[[nodiscard]] std::string ShownId(std::string_view id);

// The same things as a look finds them. The GPU has a UUID.
[[nodiscard]] ledger::WholeGpu WholeOf(const model::Gpu& gpu);
[[nodiscard]] ledger::MigDevice SliceOf(const model::Gpu& gpu,
                                        const model::GpuInstance& instance,
                                        const model::ComputeInstance& compute);
// Of time-slices under this resource's name. No parameters: the driver slices time whatever the
// number of replicas, so that those of an earlier configuration stand beside those of this one.
[[nodiscard]] ledger::Sharing TimeSlicesOf(const std::string& resource);
// Of shares by MPS. No parameters either: another limit restarts the daemon, with its clients. Of
// sizes it is the name before theirs ("nvidia.com/gpu" of "nvidia.com/gpu.small"): those of one
// device are side by side.
[[nodiscard]] ledger::Sharing MpsSharesOf(const std::string& resource);

// What ids mean on this node, whether or not anything is offered under them now: pods may have got
// them by an earlier configuration, or from NVIDIA's plugin.
class NamedDevices {
 public:
  explicit NamedDevices(const model::Inventory& inventory);
  // Nothing: nothing here is called so. A share is one of `resource`; one of a size is one by MPS.
  [[nodiscard]] std::optional<ledger::Device> Find(std::string_view id,
                                                   const std::string& resource) const;

 private:
  std::map<std::string, std::variant<ledger::WholeGpu, ledger::MigDevice>, std::less<>> devices_;
};

}  // namespace partita::service::device_plugin
