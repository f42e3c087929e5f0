#include "service/mps/domain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"

namespace partita::service::mps {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr Capability kVolta{7, 0};
constexpr std::uint32_t kClientsSinceVolta = 48, kClientsBefore = 16;
constexpr std::uint64_t kAllThreads = 100;
constexpr std::size_t kLongestName = 128;

// Whole numbers where the factor is 1, as the reference counts.
std::uint64_t Scaled(std::uint64_t part, double factor, std::uint64_t whole) {
  if (factor == 1.0) return std::min(part, whole);
  const double scaled = std::floor(static_cast<double>(part) * factor);
  return scaled < static_cast<double>(whole) ? static_cast<std::uint64_t>(scaled) : whole;
}

model::Mebibytes MemoryOf(std::uint64_t bytes) {
  return model::Mebibytes(std::max<std::uint64_t>(bytes / kMebibyte, 1));
}

model::Percent PercentOf(std::uint64_t percent) {
  return model::Percent(
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(percent, 1, kAllThreads)));
}

// By where its GPU is, as CUDA counts with CUDA_DEVICE_ORDER=PCI_BUS_ID.
bool InOrder(const Member& a, const Member& b) {
  return a.pci != b.pci ? a.pci < b.pci : a.uuid < b.uuid;
}

// Factors are decimals: 1.15 times 100 is 115, and not a little less.
std::uint64_t RoomFor(std::uint64_t there, double factor) {
  constexpr double kRounding = 1e-6;
  return static_cast<std::uint64_t>(std::floor(static_cast<double>(there) * factor + kRounding));
}

// Why a device cannot have shares of these sizes; empty: it can.
std::string WhySizesDoNotFit(const SharedDevices::Device& device, const Factors& factors) {
  const Limits whole = WholeOf(device.member);
  std::uint64_t memory = 0;
  std::uint64_t threads = 0;
  for (const Size& size : device.sizes) {
    const Limits share = SizedShare(device.member, size);
    if (share.memory > whole.memory) {
      return fmt::format(
          "a share of size {} takes {} MiB of memory, and it has {} MiB; make that size smaller",
          size.name, share.memory, whole.memory);
    }
    memory += share.memory.value() * size.replicas;
    threads += std::uint64_t{share.threads.value()} * size.replicas;
  }
  const std::uint64_t memory_room = RoomFor(whole.memory.value(), factors.memory);
  if (memory > memory_room) {
    return fmt::format(
        "its shares take {} MiB of memory together, and it has {} MiB for them; set fewer or "
        "smaller ones, or a higher mps.memoryFactor",
        memory, memory_room);
  }
  const std::uint64_t thread_room = RoomFor(kAllThreads, factors.threads);
  if (threads > thread_room) {
    return fmt::format(
        "its shares take {} % of its multiprocessors together, and it has {} % for them; set fewer "
        "or smaller ones, or a higher mps.threadFactor",
        threads, thread_room);
  }
  return "";
}

// The most that one share of the device may take, of each.
Limits BiggestShare(const SharedDevices::Device& device, const Factors& factors) {
  if (device.sizes.empty()) return EqualShare(device.member, device.replicas, factors);
  Limits biggest;
  for (const Size& size : device.sizes) {
    const Limits share = SizedShare(device.member, size);
    biggest.memory = std::max(biggest.memory, share.memory);
    biggest.threads = std::max(biggest.threads, share.threads);
  }
  return biggest;
}

class Making {
 public:
  explicit Making(const Factors& factors) : factors_(factors) {}

  void Add(const SharedDevices& shared) {
    std::vector<const SharedDevices::Device*> together;
    for (const SharedDevices::Device& device : shared.devices) {
      if (!IsFit(shared, device)) continue;
      if (shared.one_share_each || device.member.mig) {
        AddAlone(device, shared.one_share_each);
      } else {
        together.push_back(&device);
      }
    }
    if (!together.empty()) AddTogether(shared.resource, std::move(together));
  }

  Domains Done() && {
    std::sort(made_.domains.begin(), made_.domains.end(),
              [](const Domain& a, const Domain& b) { return a.name < b.name; });
    return std::move(made_);
  }

 private:
  bool IsFit(const SharedDevices& shared, const SharedDevices::Device& device) {
    const Member& member = device.member;
    const std::uint32_t most = MostClients(member);
    if (device.replicas == 0 || member.memory.value() < kMebibyte ||
        !IsDomainName(NameOfResource(member.uuid))) {
      LeaveOut(member,
               fmt::format("{}: {} cannot be shared by MPS: its memory or name is not known",
                           shared.resource, member.uuid));
      return false;
    }
    if (device.replicas > most) {
      LeaveOut(member,
               fmt::format("{}: {} cannot have {} shares by MPS: it serves at most {} clients at "
                           "once{}; set fewer replicas",
                           shared.resource, member.uuid, device.replicas, most,
                           member.mig ? fmt::format(", with {} of {} compute slices",
                                                    member.compute.slices, member.compute.of)
                                      : ""));
      return false;
    }
    if (const std::string why = WhySizesDoNotFit(device, factors_); !why.empty()) {
      LeaveOut(member, fmt::format("{}: {} cannot be shared by MPS: {}", shared.resource,
                                   member.uuid, why));
      return false;
    }
    if (!seen_.insert(member.uuid).second) {
      LeaveOut(member, fmt::format("{}: {} is shared by MPS under another name already; it stays "
                                   "with that one",
                                   shared.resource, member.uuid));
      return false;
    }
    return true;
  }

  void LeaveOut(const Member& member, std::string why) {
    made_.left_out.push_back(member.uuid);
    made_.problems.push_back(std::move(why));
  }

  void AddAlone(const SharedDevices::Device& device, bool one_share_each) {
    const Limits limits = one_share_each ? BiggestShare(device, factors_) : WholeOf(device.member);
    made_.domains.push_back({.name = NameOfResource(device.member.uuid),
                             .members = {device.member},
                             .memory = {limits.memory},
                             .threads = limits.threads});
  }

  void AddTogether(const std::string& resource, std::vector<const SharedDevices::Device*> devices) {
    std::sort(devices.begin(), devices.end(),
              [](const auto* a, const auto* b) { return InOrder(a->member, b->member); });
    Domain domain{.name = NameOfResource(resource),
                  .members = {},
                  .memory = {},
                  .threads = PercentOf(kAllThreads)};
    for (const SharedDevices::Device* device : devices) {
      domain.members.push_back(device->member);
      domain.memory.push_back(WholeOf(device->member).memory);
    }
    made_.domains.push_back(std::move(domain));
  }

  Factors factors_;
  Domains made_;
  std::set<std::string> seen_;
};

}  // namespace

std::uint32_t MostClients(const Member& member) {
  const std::uint32_t most = member.capability >= kVolta ? kClientsSinceVolta : kClientsBefore;
  if (!member.mig || member.compute.of == 0) return most;
  const std::uint64_t part = std::uint64_t{most} * member.compute.slices / member.compute.of;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(part, 1, most));
}

Limits WholeOf(const Member& member) {
  return {MemoryOf(member.memory.value()), PercentOf(kAllThreads)};
}

Limits EqualShare(const Member& member, std::uint32_t replicas, const Factors& factors) {
  const std::uint64_t total = member.memory.value();
  const std::uint32_t parts = std::max<std::uint32_t>(replicas, 1);
  // Rounded once, at the end: 1.5 times a third is a half.
  const std::uint64_t threads = factors.threads == 1.0
                                    ? kAllThreads / parts
                                    : Scaled(kAllThreads, factors.threads / parts, kAllThreads);
  return {MemoryOf(Scaled(total / parts, factors.memory, total)), PercentOf(threads)};
}

Limits SizedShare(const Member& member, const Size& size) {
  const bool by_part = size.memory == model::Bytes(0);
  const std::uint64_t memory =
      by_part ? member.memory.value() * size.memory_part.value() / 100 : size.memory.value();
  return {MemoryOf(memory), PercentOf(size.threads.value())};
}

Limits Times(const Limits& share, std::uint32_t count, const Limits& whole) {
  const std::uint64_t memory = share.memory.value() * std::uint64_t{count};
  const std::uint64_t threads = std::uint64_t{share.threads.value()} * count;
  return {model::Mebibytes(std::clamp<std::uint64_t>(memory, 1, whole.memory.value())),
          PercentOf(threads)};
}

std::string NameOfResource(std::string_view resource) {
  std::string name(resource);
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

bool IsDomainName(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return base::IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

Domains MakeDomains(const std::vector<SharedDevices>& shared, const Factors& factors) {
  Making making(factors);
  for (const SharedDevices& each : shared) making.Add(each);
  return std::move(making).Done();
}

}  // namespace partita::service::mps
