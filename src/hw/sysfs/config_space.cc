#include "hw/sysfs/config_space.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include <fmt/format.h>

#include "base/files.h"
#include "base/unique_fd.h"

namespace partita::hw::sysfs {

std::optional<std::uint32_t> ConfigWord(const std::string& root, const model::PciAddress& pci) {
  const std::string path =
      base::JoinPath(root, fmt::format("sys/bus/pci/devices/{}/config", pci.ToString()));
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<std::uint8_t, 4> bytes{};
  if (!fd.valid() || read(fd.get(), bytes.data(), bytes.size()) != ssize_t{bytes.size()})
    return std::nullopt;
  std::uint32_t word = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) word = word << 8U | bytes.at(i);
  return word;
}

}  // namespace partita::hw::sysfs
