#include "hw/testing/tree.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/result.h"

namespace partita::hw::testing {
namespace {

std::string MakeParents(const std::string& root, const std::string& path) {
  std::string whole = base::JoinPath(root, path);
  PARTITA_CHECK(base::MakeDirectories(whole.substr(0, whole.rfind('/')), 0755).ok());
  return whole;
}

}  // namespace

Tree::Tree() {
  std::string pattern = std::filesystem::temp_directory_path() / "partita-tree-XXXXXX";
  PARTITA_CHECK(mkdtemp(pattern.data()) != nullptr);
  root_ = pattern;
}

Tree::~Tree() { (void)base::RemoveTree(root_); }

void Tree::File(const std::string& path, std::string_view text) const {
  PARTITA_CHECK(base::WriteFile(MakeParents(root_, path), text, 0644).ok());
}

void Tree::Link(const std::string& path, const std::string& target) const {
  PARTITA_CHECK(symlink(target.c_str(), MakeParents(root_, path).c_str()) == 0);
}

void Tree::PciDevice(const std::string& device_path,
                     std::string_view vendor,
                     std::string_view pci_class,
                     const std::string& driver) const {
  const std::string directory = "sys/devices/" + device_path + "/";
  File(directory + "vendor", std::string(vendor) + "\n");
  File(directory + "device", "0x2335\n");
  File(directory + "subsystem_vendor", "0x10de\n");
  File(directory + "subsystem_device", "0x18bf\n");
  File(directory + "class", std::string(pci_class) + "\n");
  File(directory + "numa_node", "-1\n");
  File(directory + "irq", "0\n");
  if (!driver.empty()) Link(directory + "driver", "../../../bus/pci/drivers/" + driver);
  const std::string address = device_path.substr(device_path.rfind('/') + 1);
  Link("sys/bus/pci/devices/" + address, "../../../devices/" + device_path);
}

}  // namespace partita::hw::testing
