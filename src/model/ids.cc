#include "model/ids.h"

#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::model {
namespace {

// One to `digits` hexadecimal digits, no more than `most`.
std::optional<std::uint32_t> Hex(std::string_view text, std::size_t digits, std::uint32_t most) {
  if (text.empty() || text.size() > digits) return std::nullopt;
  const std::optional<std::uint64_t> value = base::ParseUnsigned(text, 16);
  if (!value || *value > most) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

}  // namespace

base::Result<PciAddress> PciAddress::Parse(std::string_view text) {
  const auto wrong = [text] {
    return base::MakeError(base::ErrorCode::kInvalid, "{} is not a PCI address", base::Quoted(text))
        .WithHint("write it as sysfs does, for example 0000:07:00.0");
  };
  std::string_view rest = text;
  PciAddress address;

  if (const std::size_t dot = rest.rfind('.'); dot != std::string_view::npos) {
    const std::optional<std::uint32_t> function = Hex(rest.substr(dot + 1), 1, 7);
    if (!function) return wrong();
    address.function = static_cast<std::uint8_t>(*function);
    rest = rest.substr(0, dot);
  }
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  const std::optional<std::uint32_t> device = Hex(rest.substr(colon + 1), 2, 31);
  rest = rest.substr(0, colon);
  if (const std::size_t domain_end = rest.find(':'); domain_end != std::string_view::npos) {
    const std::string_view domain_text = rest.substr(0, domain_end);
    const std::optional<std::uint32_t> domain = Hex(domain_text, 8, 0xFFFFFFFF);
    if (!domain || domain_text.size() < 4) return wrong();
    address.domain = *domain;
    rest = rest.substr(domain_end + 1);
  }
  const std::optional<std::uint32_t> bus = Hex(rest, 2, 255);
  if (!device || !bus) return wrong();
  address.bus = static_cast<std::uint8_t>(*bus);
  address.device = static_cast<std::uint8_t>(*device);
  return address;
}

std::string PciAddress::ToString() const {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

std::string PciAddress::NvmlBusId() const {
  return fmt::format("{:08X}:{:02X}:{:02X}.{:X}", domain, bus, device, function);
}

}  // namespace partita::model
