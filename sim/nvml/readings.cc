// What the sensors show, and the limits they are held against.

#include "sim/nvml/api.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/observation.h"
#include "sim/nvml/readings_model.h"
#include "sim/state/mig.h"

namespace partita::sim::nvml {
namespace {

struct Memory {
  uint64_t total, reserved, used;  // used: by processes, without the reserve

  uint64_t taken() const { return reserved + used < total ? reserved + used : total; }
  uint64_t free() const { return total - taken(); }
};

Memory GpuMemory(const Device& device) {
  const Board& board = *device.board;
  return {.total = board.memory_total,
          .reserved = board.memory_reserved,
          .used = ProcessMemory(device) + InstanceOverhead(board, device.state)};
}

Memory InstanceMemory(const Device& device) {
  const GiProfile* profile = FindGiProfile(*device.board, device.instance().profile);
  return {.total = profile == nullptr ? 0 : profile->memory_mb * kMebibyte,
          .reserved = InstanceOverhead(*device.board, device.instance()),
          .used = ProcessMemory(device)};
}

Memory MemoryOf(const Device& device) {
  return device.is_mig ? InstanceMemory(device) : GpuMemory(device);
}

nvmlReturn_t SensorFact(const char* function,
                        nvmlDevice_t handle,
                        unsigned int* out,
                        Fact Readings::*member) {
  return GpuCall(function, handle,
                 [&](const Device& device) { return WriteFact(out, ReadSensors(device).*member); });
}

nvmlReturn_t BoardFact(const char* function,
                       nvmlDevice_t handle,
                       unsigned int* out,
                       Fact Board::*member) {
  return GpuCall(function, handle,
                 [&](const Device& device) { return WriteFact(out, device.board->*member); });
}

nvmlReturn_t PerformanceState(const char* function, nvmlDevice_t handle, nvmlPstates_t* state) {
  return GpuCall(function, handle, [&](const Device& device) {
    if (state == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const Fact fact = ReadSensors(device).performance_state;
    if (fact.known == 0) return NVML_ERROR_NOT_SUPPORTED;
    *state = static_cast<nvmlPstates_t>(fact.value);
    return NVML_SUCCESS;
  });
}

}  // namespace

// The struct of version 1 has no room for the reserve: it counts as used (driver 580).
NVML_API(nvmlDeviceGetMemoryInfo, nvmlDevice_t handle, nvmlMemory_t* memory) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const Memory now = MemoryOf(device);
    memory->total = now.total;
    memory->free = now.free();
    memory->used = now.taken();
    return NVML_SUCCESS;
  });
}

// A wrong tag is answered with 13 by driver 580: nvtop relies on it being neither 0 nor 3.
NVML_API(nvmlDeviceGetMemoryInfo_v2, nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_FUNCTION_NOT_FOUND;
    const Memory now = MemoryOf(device);
    memory->total = now.total;
    memory->reserved = now.reserved;
    memory->free = now.free();
    memory->used = now.taken() - now.reserved;
    return NVML_SUCCESS;
  });
}

// The window is shared out like the memory. What the driver itself maps is the model's: an idle
// H200 shows 1.6 MiB.
NVML_API(nvmlDeviceGetBAR1MemoryInfo, nvmlDevice_t handle, nvmlBAR1Memory_t* memory) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const Board& board = *device.board;
    if (board.bar1_total.known == 0) return NVML_ERROR_NOT_SUPPORTED;
    uint64_t total = board.bar1_total.value;
    if (device.is_mig && board.memory_slices != 0) {
      const GiProfile* profile = FindGiProfile(board, device.instance().profile);
      total = profile == nullptr ? 0 : total / board.memory_slices * profile->placement_size;
    }
    const uint64_t used = total < kMebibyte ? total : kMebibyte;
    memory->bar1Total = total;
    memory->bar1Free = total - used;
    memory->bar1Used = used;
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetUtilizationRates, nvmlDevice_t handle, nvmlUtilization_t* rates) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (rates == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (device.state.mig_current != 0) return NVML_ERROR_NOT_SUPPORTED;
    const Readings now = ReadSensors(device);
    rates->gpu = now.utilization.value;
    rates->memory = now.memory_utilization.value;
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetTemperature, nvmlDevice_t handle, unsigned int sensor, unsigned int* value) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (sensor >= NVML_TEMPERATURE_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    return WriteFact(value, ReadSensors(device).temperature);
  });
}

NVML_API(nvmlDeviceGetTemperatureThreshold,
         nvmlDevice_t handle,
         unsigned int threshold,
         unsigned int* value) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    const Board& board = *device.board;
    switch (threshold) {
      case NVML_TEMPERATURE_THRESHOLD_SHUTDOWN: return WriteFact(value, board.temp_shutdown);
      case NVML_TEMPERATURE_THRESHOLD_SLOWDOWN: return WriteFact(value, board.temp_slowdown);
      case NVML_TEMPERATURE_THRESHOLD_MEM_MAX: return WriteFact(value, board.temp_memory_max);
      case NVML_TEMPERATURE_THRESHOLD_GPU_MAX: return WriteFact(value, board.temp_gpu_max);
      default:
        return threshold < NVML_TEMPERATURE_THRESHOLD_COUNT ? NVML_ERROR_NOT_SUPPORTED
                                                            : NVML_ERROR_INVALID_ARGUMENT;
    }
  });
}

NVML_API(nvmlDeviceGetPowerUsage, nvmlDevice_t handle, unsigned int* milliwatts) {
  return SensorFact(__func__, handle, milliwatts, &Readings::power_mw);
}

NVML_API(nvmlDeviceGetEnforcedPowerLimit, nvmlDevice_t handle, unsigned int* milliwatts) {
  return SensorFact(__func__, handle, milliwatts, &Readings::power_limit_mw);
}

NVML_API(nvmlDeviceGetPowerManagementLimit, nvmlDevice_t handle, unsigned int* milliwatts) {
  return SensorFact(__func__, handle, milliwatts, &Readings::power_limit_mw);
}

NVML_API(nvmlDeviceGetPowerManagementDefaultLimit, nvmlDevice_t handle, unsigned int* milliwatts) {
  return BoardFact(__func__, handle, milliwatts, &Board::power_default_mw);
}

NVML_API(nvmlDeviceGetPowerManagementLimitConstraints,
         nvmlDevice_t handle,
         unsigned int* min,
         unsigned int* max) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    const Board& board = *device.board;
    if (min == nullptr || max == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (board.power_min_mw.known == 0 || board.power_max_mw.known == 0) {
      return NVML_ERROR_NOT_SUPPORTED;
    }
    *min = board.power_min_mw.value;
    *max = board.power_max_mw.value;
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetTotalEnergyConsumption, nvmlDevice_t handle, unsigned long long* millijoule) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (millijoule == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const WideFact energy = ReadEnergy(device);
    if (energy.known == 0) return NVML_ERROR_NOT_SUPPORTED;
    *millijoule = energy.value;
    return NVML_SUCCESS;
  });
}

// The number after the last clock is "not supported" here and "invalid" for the maximum; both as
// seen on driver 580.
NVML_API(nvmlDeviceGetClockInfo, nvmlDevice_t handle, unsigned int type, unsigned int* mhz) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    const Readings now = ReadSensors(device);
    switch (type) {
      case NVML_CLOCK_GRAPHICS:
      case NVML_CLOCK_SM: return WriteFact(mhz, now.clock_graphics);
      case NVML_CLOCK_MEM: return WriteFact(mhz, now.clock_memory);
      case NVML_CLOCK_VIDEO: return WriteFact(mhz, now.clock_video);
      case NVML_CLOCK_COUNT: return NVML_ERROR_NOT_SUPPORTED;
      default: return NVML_ERROR_INVALID_ARGUMENT;
    }
  });
}

NVML_API(nvmlDeviceGetMaxClockInfo, nvmlDevice_t handle, unsigned int type, unsigned int* mhz) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    switch (type) {
      case NVML_CLOCK_GRAPHICS:
      case NVML_CLOCK_SM: return WriteFact(mhz, device.board->clock_max_graphics);
      case NVML_CLOCK_MEM: return WriteFact(mhz, device.board->clock_max_memory);
      case NVML_CLOCK_VIDEO: return WriteFact(mhz, device.board->clock_max_video);
      default: return NVML_ERROR_INVALID_ARGUMENT;
    }
  });
}

NVML_API(nvmlDeviceGetPerformanceState, nvmlDevice_t handle, nvmlPstates_t* state) {
  return PerformanceState(__func__, handle, state);
}

NVML_API(nvmlDeviceGetPowerState, nvmlDevice_t handle, nvmlPstates_t* state) {
  return PerformanceState(__func__, handle, state);
}

NVML_API(nvmlDeviceGetCurrentClocksEventReasons, nvmlDevice_t handle, unsigned long long* reasons) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    return WriteValue<unsigned long long>(reasons, ReadSensors(device).clock_reasons);
  });
}

NVML_API(nvmlDeviceGetSupportedClocksEventReasons,
         nvmlDevice_t handle,
         unsigned long long* reasons) {
  return GpuCall(__func__, handle, [&](const Device&) {
    return WriteValue<unsigned long long>(reasons, nvmlClocksEventReasonAll);
  });
}

// How fast a board's own fans turn is in no product's data.
NVML_API(nvmlDeviceGetFanSpeed, nvmlDevice_t handle, unsigned int* percent) {
  return GpuCall(__func__, handle,
                 [&](const Device&) { return WriteFact(percent, {.known = 0, .value = 0}); });
}

NVML_API(nvmlDeviceGetTotalEccErrors,
         nvmlDevice_t handle,
         unsigned int type,
         unsigned int counter,
         unsigned long long* count) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (count == nullptr || type >= NVML_MEMORY_ERROR_TYPE_COUNT ||
        counter >= NVML_ECC_COUNTER_TYPE_COUNT) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (device.board->ecc.known == 0 || device.state.ecc_current == 0) {
      return NVML_ERROR_NOT_SUPPORTED;
    }
    *count = counter == NVML_VOLATILE_ECC ? device.state.ecc_volatile[type]
                                          : device.state.ecc_aggregate[type];
    return NVML_SUCCESS;
  });
}

// Boards before Ampere retire pages instead.
NVML_API(nvmlDeviceGetRemappedRows,
         nvmlDevice_t handle,
         unsigned int* corrected,
         unsigned int* uncorrected,
         unsigned int* pending,
         unsigned int* failed) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (corrected == nullptr || uncorrected == nullptr || pending == nullptr || failed == nullptr) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (device.board->row_remap_max_banks.known == 0) return NVML_ERROR_NOT_SUPPORTED;
    *corrected = device.state.rows_corrected;
    *uncorrected = device.state.rows_uncorrected;
    *pending = device.state.rows_pending;
    *failed = device.state.rows_failed;
    return NVML_SUCCESS;
  });
}

}  // namespace partita::sim::nvml
