// <device>/resource0: the first memory window of a GPU, as far as a program without a driver has
// any use for it: which chip it is, whether its firmware is up and, on GA100, the MIG mode and the
// request for another one. There only while no driver is loaded: with one, nobody else looks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "sim/state/layout.h"

namespace partita::sim::tool {

// "<root>/sys/devices/…/<name>"
[[nodiscard]] std::string DeviceFile(const std::string& root, const Board& board, const char* name);

class PciRegisters {
 public:
  // An old file is mapped as it is.
  [[nodiscard]] static base::Result<PciRegisters> Open(const std::string& root, const Board& board);
  // Makes the file. The request is what the state has pending.
  [[nodiscard]] static base::Result<void> Make(const std::string& root,
                                               const Board& board,
                                               const Gpu& gpu);
  PciRegisters(PciRegisters&& other) noexcept;
  PciRegisters& operator=(PciRegisters&&) = delete;
  PciRegisters(const PciRegisters&) = delete;
  PciRegisters& operator=(const PciRegisters&) = delete;
  ~PciRegisters();

  // What the GPU alone writes. Not `ready`: in the middle of a reset.
  void Show(const Board& board, const Gpu& gpu, bool ready);
  // What a program has asked for; nothing on chips that keep no mode, and when nobody asked.
  [[nodiscard]] std::optional<bool> Requested(const Board& board) const;

 private:
  explicit PciRegisters(volatile std::uint32_t* words) : words_(words) {}
  volatile std::uint32_t* words_;
};

// For every GPU of the node; removing what is not there is success.
[[nodiscard]] base::Result<void> MakeAllRegisters(const std::string& root,
                                                  const Machine& machine,
                                                  const Slot& slot);
[[nodiscard]] base::Result<void> RemoveAllRegisters(const std::string& root,
                                                    const Machine& machine);

// Whether a reset was asked for by what was written there, which is then gone. As the kernel,
// anything but "1" is no reset.
[[nodiscard]] bool TakeReset(const std::string& root, const Board& board);
[[nodiscard]] bool TakeReset(int reset_file);

// Requests become the pending modes of the state, as the driver finds them when it comes; resets
// that nobody has answered yet are carried out.
void AdoptRequests(const std::string& root, const Machine& machine, Slot& slot);

}  // namespace partita::sim::tool
