// Contents of the driver's files that do not depend on MIG instances.
#pragma once

#include <stddef.h>

#include "sim/state/layout.h"

namespace partita::sim {

// Text that grows in a fixed buffer; what does not fit is dropped and `overflow` says so.
struct Text {
  char* bytes;
  size_t capacity;
  size_t size = 0;
  bool overflow = false;

  void Add(const char* format, ...) __attribute__((format(printf, 2, 3)));
};

void WriteVersion(const Machine& machine, Text* out);  // /proc/driver/nvidia/version
void WriteParams(Text* out);                           // …/params
void WriteGpuInformation(const Machine& machine,
                         const Board& board,
                         Text* out);                                // …/gpus/*/information
void WriteGpuPower(Text* out);                                      // …/gpus/*/power
void WriteDevices(const Machine& machine, bool loaded, Text* out);  // /proc/devices
void WriteModules(bool loaded, Text* out);                          // /proc/modules
void WriteMigMinors(Text* out);  // /proc/driver/nvidia-caps/mig-minors
void WriteCapability(uint32_t minor, uint32_t mode, Text* out);  // …/capabilities/**

// Enough for mig-minors, the longest.
inline constexpr size_t kLongestText = size_t{160} * 1024;

}  // namespace partita::sim
