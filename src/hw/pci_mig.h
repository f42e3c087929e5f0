// MIG modes while no driver is loaded, through the registers of the GPU. Only GA100 has such a way:
// it keeps the mode on the board, while Hopper and later keep it in the driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "model/ids.h"

namespace partita::hw {

// Whether the kernel module is loaded: "nvidia" in /proc/modules or, where a kernel shows no such
// list, in /sys/module.
[[nodiscard]] bool IsDriverLoaded(const std::string& root);

struct PciMigOptions {
  std::string root = "/";
  // A GPU that was just reset answers when its firmware is up: asked every 100 ms for 5 s.
  int boot_polls = 50;
  std::function<void()> pause;  // between polls; empty: 100 ms
};

enum class PciMigSupport : std::uint8_t {
  kYes,
  kInDriver,  // Hopper and later: where there is a mode, the driver keeps it
  kNone,      // no MIG, or older than MIG
};

struct PciMigMode {
  bool enabled = false;          // now
  bool pending_enabled = false;  // after a reset
  bool operator==(const PciMigMode&) const = default;
};

// One GPU with its registers mapped. Nothing else may drive it meanwhile.
class PciMig {
 public:
  // Errors name the file and what to do: it is absent, too small, not ours to write, or the device
  // does not answer.
  [[nodiscard]] static base::Result<PciMig> Open(const model::PciAddress& gpu,
                                                 PciMigOptions options);
  PciMig(PciMig&& other) noexcept;
  PciMig& operator=(PciMig&&) = delete;
  PciMig(const PciMig&) = delete;
  PciMig& operator=(const PciMig&) = delete;
  ~PciMig();

  [[nodiscard]] PciMigSupport support() const;

  // The following wait for the firmware (kTimeout) and are kUnsupported without support().
  [[nodiscard]] base::Result<PciMigMode> ReadMode() const;
  // Takes effect at the next reset.
  [[nodiscard]] base::Result<void> Request(bool enabled);
  [[nodiscard]] base::Result<void> Reset();

 private:
  PciMig(std::string directory, PciMigOptions options);
  [[nodiscard]] base::Result<void> Map();
  [[nodiscard]] base::Result<void> AwaitReady() const;
  [[nodiscard]] std::uint32_t Read(std::size_t offset) const;
  void Write(std::size_t offset, std::uint32_t value);

  std::string directory_;  // of the device in sysfs
  PciMigOptions options_;
  volatile std::uint32_t* registers_ = nullptr;
};

// Why a GPU's mode cannot be changed, for a person; for support() other than kYes.
[[nodiscard]] std::string WhyUnsupported(PciMigSupport support);

}  // namespace partita::hw
