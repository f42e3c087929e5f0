// The GPUs that a command works on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/smi/nvml.h"

namespace partita::sim::smi {

struct Device {
  nvmlDevice_t handle = nullptr;
  unsigned int index = 0;
  std::string bus_id;  // "00000000:07:00.0"
};

// All GPUs, or those named by a comma list of indices, UUIDs, bus ids or serials; in the order of
// their index. Prints why and returns nothing when one cannot be reached; `status` is then the exit
// status.
[[nodiscard]] std::optional<std::vector<Device>> SelectDevices(
    const Nvml& nvml, const std::optional<std::string>& ids, int* status);

// A string call with its usual protocol; nothing when it does not answer.
template <typename Call, typename Handle>
std::optional<std::string> AskText(Call call, Handle handle) {
  char text[128] = "";
  if (call(handle, text, sizeof text) != NVML_SUCCESS) return std::nullopt;
  return text;
}

// A call that writes one number.
template <typename Number, typename Call, typename... Args>
std::optional<Number> Ask(Call call, Args... args) {
  Number number{};
  if (call(args..., &number) != NVML_SUCCESS) return std::nullopt;
  return number;
}

struct MigMode {
  bool enabled = false;
  bool pending = false;
};
// Nothing: the GPU has no MIG.
[[nodiscard]] std::optional<MigMode> AskMigMode(const Nvml& nvml, nvmlDevice_t device);

struct MigDevice {
  nvmlDevice_t handle = nullptr;
  unsigned int number = 0;  // "Device 0"
  unsigned int gpu_instance = 0;
  unsigned int compute_instance = 0;
};
[[nodiscard]] std::vector<MigDevice> MigDevicesOf(const Nvml& nvml, nvmlDevice_t device);

// "3g.20gb" of a MIG device, from its name "NVIDIA A100-SXM4-40GB MIG 3g.20gb".
[[nodiscard]] std::string MigProfileName(const Nvml& nvml, nvmlDevice_t mig_device);

struct Process {
  unsigned int pid = 0;
  std::string type;  // "C", "G", "M+C"
  std::string name;
  std::optional<unsigned long long> memory;  // bytes
  std::optional<unsigned int> gpu_instance, compute_instance;
};
[[nodiscard]] std::vector<Process> ProcessesOf(const Nvml& nvml, nvmlDevice_t device);

inline constexpr unsigned long long kMebibyte = 1024ULL * 1024;

}  // namespace partita::sim::smi
