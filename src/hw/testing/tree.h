// A directory of files made by a test, to stand for / of some machine.
#pragma once

#include <string>
#include <string_view>

namespace partita::hw::testing {

class Tree {
 public:
  Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree();

  [[nodiscard]] const std::string& root() const { return root_; }

  // Paths are relative to the root; the directories above are made too.
  void File(const std::string& path, std::string_view text) const;
  void Link(const std::string& path, const std::string& target) const;

  // A PCI function at `device_path` below /sys/devices, with its link on the bus. `driver` may be
  // empty.
  void PciDevice(const std::string& device_path,
                 std::string_view vendor,
                 std::string_view pci_class,
                 const std::string& driver) const;

 private:
  std::string root_;
};

}  // namespace partita::hw::testing
