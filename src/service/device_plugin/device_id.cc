#include "service/device_plugin/device_id.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"

namespace partita::service::device_plugin {
namespace {

std::string Id(const ledger::WholeGpu& gpu) { return gpu.uuid.value(); }
std::string Id(const ledger::MigDevice& device) { return device.uuid.value(); }
std::string Id(const ledger::Share& share) {
  return fmt::format("{}::{}", std::visit([](const auto& of) { return Id(of); }, share.of),
                     ledger::NumberOf(share));
}
std::string Id(const ledger::VfioDevice& device) { return device.pci.ToString(); }

}  // namespace

std::string IdOf(const ledger::Device& device) {
  return std::visit([](const auto& one) { return Id(one); }, device);
}

std::string ShownId(std::string_view id) {
  constexpr std::size_t kMost = 64;
  return base::Printable(id.substr(0, kMost)) + (id.size() > kMost ? "…" : "");
}

ledger::WholeGpu WholeOf(const model::Gpu& gpu) {
  if (gpu.pci == model::PciAddress()) return {*gpu.uuid};
  return {*gpu.uuid, gpu.pci};
}

ledger::MigDevice SliceOf(const model::Gpu& gpu,
                          const model::GpuInstance& instance,
                          const model::ComputeInstance& compute) {
  return {WholeOf(gpu), instance.profile, instance.placement, compute.placement, compute.uuid};
}

ledger::Sharing TimeSlicesOf(const std::string& resource) { return {"time-slicing", "", resource}; }

ledger::Sharing MpsSharesOf(const std::string& resource) { return {"mps", "", resource}; }

NamedDevices::NamedDevices(const model::Inventory& inventory) {
  for (const model::Gpu& gpu : inventory.gpus) {
    if (!gpu.uuid) continue;
    devices_.emplace(gpu.uuid->value(), WholeOf(gpu));
    if (!gpu.mig) continue;
    for (const model::GpuInstance& instance : gpu.mig->instances)
      for (const model::ComputeInstance& compute : instance.compute_instances)
        if (!compute.uuid.value().empty())
          devices_.emplace(compute.uuid.value(), SliceOf(gpu, instance, compute));
  }
}

std::optional<ledger::Device> NamedDevices::Find(std::string_view id,
                                                 const std::string& resource) const {
  const std::size_t end = id.find("::");
  const auto found = devices_.find(id.substr(0, end));
  if (found == devices_.end()) return std::nullopt;
  if (end == std::string_view::npos)
    return std::visit([](const auto& device) { return ledger::Device(device); }, found->second);
  const std::string_view which = id.substr(end + 2);
  const std::size_t dash = which.rfind('-');
  const std::string_view number = which.substr(dash == std::string_view::npos ? 0 : dash + 1);
  const std::optional<std::uint64_t> n = base::ParseUnsigned(number);
  if (!n || *n > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  if (std::to_string(*n) != number) return std::nullopt;  // "::01" is nobody's
  const auto share = static_cast<std::uint32_t>(*n);
  if (dash == std::string_view::npos)
    return ledger::Share{found->second, share, TimeSlicesOf(resource)};
  // A size is the end of its resource's name: "small" of "nvidia.com/gpu.small".
  const std::string size(which.substr(0, dash));
  if (size.empty() || !resource.ends_with("." + size)) return std::nullopt;
  const std::string before = resource.substr(0, resource.size() - size.size() - 1);
  return ledger::Share{found->second, share, MpsSharesOf(before), size};
}

}  // namespace partita::service::device_plugin
