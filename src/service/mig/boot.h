// The boot service: MIG as it was, or as the machine's files select it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "hw/inventory_reader.h"
#include "service/mig/procedure.h"

namespace partita::service::mig {

// What is asked of a boot. Empty texts: not given.
struct BootChoice {
  std::string selected_config;  // empty: what was applied last
  std::string config_file;      // empty: the usual ones of config_dir, else what fits these GPUs
  std::string config_dir;
  std::string hooks_file;
  std::string gpu_clients_file;
  bool reboot = false;  // allowed, once, where no reset is possible
  bool operator==(const BootChoice&) const = default;
};

struct BootOptions {
  BootChoice choice;
  hw::ReaderOptions reader;
  std::shared_ptr<hw::nvml::Driver> driver;  // of the process; null: one is made
  std::string command = "partita mig boot";  // told to whoever comes second
  ChangeGuards guards;
  std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string& line)> say;  // what happens on the way
  std::function<void(const std::string& output)> hook_wrote;
};

// How a boot ended: the line of the unit's log, and the status.
struct BootEnd {
  std::string line;
  ChangeStatus status = ChangeStatus::kDone;
  bool rebooting = false;  // asked for and granted: nothing more is to be done in this boot
};

// Stops the units that hold GPUs only if something must change, and starts them again. Their names
// are on disk before the first is stopped, so a crash in between leaves nobody stopped.
[[nodiscard]] BootEnd BringMigBack(const BootOptions& options);

}  // namespace partita::service::mig
