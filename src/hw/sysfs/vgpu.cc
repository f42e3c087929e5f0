#include "hw/sysfs/vgpu.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::hw::sysfs {
namespace {

// PCI's own offsets and values.
constexpr std::size_t kConfigBytes = 256;
constexpr std::size_t kStatus = 0x06;
constexpr std::uint8_t kHasCapabilities = 0x10;
constexpr std::size_t kFirstCapability = 0x34;
constexpr std::uint8_t kVendorSpecific = 0x09;
constexpr std::uint8_t kNothingThere = 0xff;
// NVIDIA's: behind id, next and length a signature, then records of id, length, bytes. The length
// counts the record's two first bytes.
constexpr std::size_t kSignature = 3, kFirstRecord = 5;
constexpr std::size_t kRecordHead = 2, kTextBytes = 10;

std::uint8_t ByteAt(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<std::uint8_t>(bytes[at]) : 0;
}

// The vendor's capability; empty: there is none. Lists that bend back end.
std::string_view VendorCapability(std::string_view space) {
  if ((ByteAt(space, kStatus) & kHasCapabilities) == 0) return {};
  std::array<bool, kConfigBytes> visited = {};
  for (std::uint8_t at = ByteAt(space, kFirstCapability); at != 0; at = ByteAt(space, at + 1U)) {
    const std::uint8_t id = ByteAt(space, at);
    if (std::exchange(visited.at(at), true) || id == kNothingThere) return {};
    if (id == kVendorSpecific) return space.substr(at, ByteAt(space, at + 2U));
  }
  return {};
}

std::string TextAt(std::string_view bytes, std::size_t at) {
  const std::string_view text = bytes.substr(at, kTextBytes);
  return std::string(text.substr(0, text.find('\0')));
}

model::VgpuHost HostIn(std::string_view capability) {
  for (std::size_t at = kFirstRecord; at + kRecordHead <= capability.size();) {
    const std::size_t length = ByteAt(capability, at + 1);
    if (ByteAt(capability, at) == 0) {
      const std::size_t text = at + kRecordHead;
      if (text + 2 * kTextBytes > capability.size()) break;
      return {TextAt(capability, text), TextAt(capability, text + kTextBytes)};
    }
    if (length < kRecordHead) break;  // it would lead nowhere
    at += length;
  }
  return {};
}

// No more than is looked at: each byte is a read of the hardware's, and the file has 4096.
base::Result<std::string> ReadSpace(const std::string& path) {
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError("open " + path);
  std::string space(kConfigBytes, '\0');
  const ssize_t count = read(fd.get(), space.data(), space.size());
  if (count < 0) return base::ErrnoError("read " + path);
  space.resize(static_cast<std::size_t>(count));
  return space;
}

}  // namespace

base::Result<std::optional<model::VgpuHost>> ParseVgpu(std::string_view config_space) {
  if (config_space.size() < kConfigBytes)
    return base::MakeError(base::ErrorCode::kUnavailable,
                           "{} of its {} bytes of PCI config space were read", config_space.size(),
                           kConfigBytes)
        .WithHint("only root sees all of it; in a container it needs privileged: true");
  const std::string_view capability = VendorCapability(config_space.substr(0, kConfigBytes));
  if (capability.size() < kFirstRecord || capability.substr(kSignature, 2) != "VF")
    return std::optional<model::VgpuHost>();
  return std::optional(HostIn(capability));
}

base::Result<model::VgpuFacts> ReadVgpu(const std::string& root) {
  const std::string directory = base::JoinPath(root, "sys/bus/pci/devices");
  TRY(names, base::ListDirectory(directory));
  model::VgpuFacts facts;
  for (const std::string& name : names) {
    const std::string device = base::JoinPath(directory, name);
    const base::Result<std::string> vendor = base::ReadFile(device + "/vendor");
    if (!vendor.ok() || base::Trim(*vendor) != "0x10de") continue;
    TRY(space, ReadSpace(device + "/config"));
    TRY(host, ParseVgpu(space), "{}", name);
    if (host) facts.host = std::move(host);
  }
  return facts;
}

}  // namespace partita::hw::sysfs
