// What the kernel says of devices that come, change and go. Each message means "look again", no
// more: what is there is read from the driver and the bus.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::hw::watch {

struct Uevent {
  std::string action;     // "add", "remove", "change", "bind", …
  std::string path;       // below /sys: "/devices/pci0000:00/0000:00:02.0"
  std::string subsystem;  // "pci", "module", …; empty where none was named
  std::string driver;     // empty where none was named
  bool operator==(const Uevent&) const = default;
};

// One message in the kernel's form, "add@/devices/…\0ACTION=add\0…"; nothing for any other.
[[nodiscard]] base::Result<Uevent> ParseUevent(std::string_view message);

// Whether it can be about a GPU or its driver.
[[nodiscard]] bool ConcernsGpus(const Uevent& event);

class Uevents {
 public:
  // kDenied or kIo where this process gets none, as in some sandboxes.
  static base::Result<Uevents> Open();

  // Readable when something was said.
  [[nodiscard]] int fd() const { return fd_.get(); }

  struct Heard {
    std::vector<Uevent> events;
    bool missed = false;  // there were more than the kernel kept: look at everything
  };
  // What was said since the last call. Only the kernel is heard: whoever else sends here, as any
  // root of a user namespace can, is ignored.
  [[nodiscard]] Heard Read();

 private:
  explicit Uevents(base::UniqueFd fd) : fd_(std::move(fd)) {}
  base::UniqueFd fd_;
};

}  // namespace partita::hw::watch
