#include "service/ledger/devices.h"

#include <string_view>

#include <fmt/format.h>

namespace partita::service::ledger {
namespace {

// Wider than any GPU instance: whatever compute instance it has or gets is in it.
constexpr std::uint32_t kAllComputeSlices = 64;

std::string Key(const WholeGpu& gpu) { return gpu.uuid.value(); }

std::string Key(const MigDevice& device) {
  return fmt::format("{}/{}+{}", KeyOf(device.instance()), device.compute.start,
                     device.compute.size);
}

std::string Key(const Share& share) {
  return fmt::format("{}::{}", std::visit([](const auto& of) { return Key(of); }, share.of),
                     NumberOf(share));
}

std::string Key(const VfioDevice& device) { return device.pci.ToString(); }

std::string DeviceText(const WholeGpu& gpu) { return gpu.uuid.value(); }

std::string_view MigName(const MigDevice& device) {
  if (!device.uuid.value().empty()) return device.uuid.value();
  return device.compute.size == kAllComputeSlices ? "the GPU instance"
                                                  : "a MIG device still to be made";
}

std::string DeviceText(const MigDevice& device) {
  return fmt::format("{} (profile {} at slice {} of {})", MigName(device), device.profile,
                     device.memory.start, device.gpu.uuid);
}

std::string DeviceText(const Share& share) {
  return fmt::format("share {} of {}", NumberOf(share),
                     std::visit([](const auto& of) { return DeviceText(of); }, share.of));
}

std::string DeviceText(const VfioDevice& device) {
  return fmt::format("{} (vfio)", device.pci.ToString());
}

}  // namespace

std::string KeyOf(const Device& device) {
  return std::visit([](const auto& one) { return Key(one); }, device);
}

std::string KeyOf(const model::InstanceKey& instance) {
  return fmt::format("{}/{}@{}", instance.gpu, instance.profile, instance.start);
}

std::string NumberOf(const Share& share) {
  return share.size.empty() ? fmt::format("{}", share.n)
                            : fmt::format("{}-{}", share.size, share.n);
}

Board BoardOf(const Device& device) {
  if (const auto* gpu = std::get_if<WholeGpu>(&device)) return Board(gpu->uuid.value());
  if (const MigDevice* mig = MigPart(device)) return Board(mig->gpu.uuid.value());
  if (const auto* share = std::get_if<Share>(&device))
    return Board(std::get<WholeGpu>(share->of).uuid.value());
  const auto& vfio = std::get<VfioDevice>(device);
  return Board(vfio.remembered ? vfio.remembered->value() : vfio.pci.ToString());
}

const MigDevice* MigPart(const Device& device) {
  if (const auto* share = std::get_if<Share>(&device)) return std::get_if<MigDevice>(&share->of);
  return std::get_if<MigDevice>(&device);
}

MigDevice* MigPart(Device& device) {
  if (auto* share = std::get_if<Share>(&device)) return std::get_if<MigDevice>(&share->of);
  return std::get_if<MigDevice>(&device);
}

MigDevice WholeInstance(const WholeGpu& gpu, model::ProfileId profile, model::Placement memory) {
  return {gpu, profile, memory, {0, kAllComputeSlices}};
}

std::string ToString(const Device& device) {
  return std::visit([](const auto& one) { return DeviceText(one); }, device);
}

}  // namespace partita::service::ledger
