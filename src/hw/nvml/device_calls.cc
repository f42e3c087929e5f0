#include "hw/nvml/device_calls.h"

#include <fmt/format.h>

namespace partita::hw::nvml {

std::string NameOf(const model::Gpu& gpu) {
  return gpu.index ? fmt::format("{}", *gpu.index) : gpu.pci.ToString();
}

std::string ResetAdvice(std::string_view name) {
  return fmt::format("stop its workloads, then nvidia-smi -r -i {}", name);
}

model::Fault FaultOf(const base::Error& error, std::string_view name) {
  const int code = error.native() ? error.native()->value : NVML_ERROR_UNKNOWN;
  if (code == NVML_ERROR_GPU_IS_LOST) {
    return {model::FaultKind::kLost, fmt::format("fell off the bus: {}", NvmlHint(code))};
  }
  if (code == NVML_ERROR_RESET_REQUIRED) {
    return {model::FaultKind::kResetRequired, fmt::format("needs a reset: {}", ResetAdvice(name))};
  }
  const std::string hint = error.hint().empty() ? "see the kernel log" : error.hint();
  return {model::FaultKind::kUnreadable,
          fmt::format("cannot be read: {}: {}", error.ToString(), hint)};
}

base::Result<std::size_t> RoomFor(const char* function, unsigned count) {
  constexpr unsigned kMost = 1U << 16;  // processes, which are the most numerous
  if (count <= kMost) return std::size_t{count};
  return base::MakeError(base::ErrorCode::kInternal, "{} speaks of {} entries", function, count)
      .WithHint("the driver is damaged, or not what it says it is: see the kernel log");
}

void DeviceCalls::NoteEnd(nvmlReturn_t code) {
  if (code == NVML_ERROR_GPU_IS_LOST) {
    over_ = true;
    faults_.push_back(FaultOf(NvmlError("", code), name_));
  } else if (code == NVML_ERROR_RESET_REQUIRED && !std::exchange(reset_required_, true)) {
    faults_.push_back(FaultOf(NvmlError("", code), name_));
  } else if (MeansSessionLost(code)) {
    over_ = true;
    session_lost_ = true;
  } else if (code == Caller::kGivenUp) {
    over_ = true;
  }
}

bool DeviceCalls::Note(const char* function, nvmlReturn_t code) {
  if (code == NVML_SUCCESS) return true;
  // Those that are faults, or end everything, were noted once already.
  const bool told = code == NVML_ERROR_GPU_IS_LOST || code == NVML_ERROR_RESET_REQUIRED ||
                    MeansSessionLost(code) || code == Caller::kGivenUp;
  if (!told && !MeansAbsent(code)) problems_.push_back(NvmlError(function, code));
  return false;
}

bool DeviceCalls::NoteGap(const char* function,
                          nvmlReturn_t code,
                          std::optional<base::Error>& gap) {
  if (Note(function, code)) return true;
  if (gap || MeansAbsent(code)) return false;
  // It was not asked at all, since the GPU is lost.
  const bool given_up = code == Caller::kGivenUp && !faults_.empty();
  gap = given_up ? base::Error(base::ErrorCode::kUnavailable, faults_.back().text)
                 : NvmlError(function, code);
  return false;
}

}  // namespace partita::hw::nvml
