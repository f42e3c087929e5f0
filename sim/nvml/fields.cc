// nvmlDeviceGetFieldValues: many small questions in one call, each with its own answer.

#include <stddef.h>
#include <time.h>

#include "sim/nvml/api.h"
#include "sim/nvml/mig.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/observation.h"

namespace partita::sim::nvml {
namespace {

struct Answer {
  nvmlReturn_t code;
  nvmlValueType_t type;
  uint64_t value;
};

constexpr Answer kUnsupported = {NVML_ERROR_NOT_SUPPORTED, NVML_VALUE_TYPE_UNSIGNED_INT, 0};

Answer Small(uint32_t value) { return {NVML_SUCCESS, NVML_VALUE_TYPE_UNSIGNED_INT, value}; }
Answer Wide(uint64_t value) { return {NVML_SUCCESS, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, value}; }
Answer Small(const Fact& fact) { return fact.known != 0 ? Small(fact.value) : kUnsupported; }

bool HasEcc(const Device& device) { return device.board->ecc.known != 0; }
bool CountsEcc(const Device& device) { return HasEcc(device) && device.state.ecc_current != 0; }
bool RemapsRows(const Device& device) { return device.board->row_remap_max_banks.known != 0; }

Answer EccCurrent(const Device& device, uint32_t) {
  return HasEcc(device) ? Wide(device.state.ecc_current) : kUnsupported;
}
Answer EccPending(const Device& device, uint32_t) {
  return HasEcc(device) ? Wide(device.state.ecc_pending) : kUnsupported;
}

template <uint64_t (Gpu::*Counts)[2], uint32_t Type>
Answer EccTotal(const Device& device, uint32_t) {
  return CountsEcc(device) ? Wide((device.state.*Counts)[Type]) : kUnsupported;
}

template <uint32_t Gpu::*Rows>
Answer RemappedRows(const Device& device, uint32_t) {
  return RemapsRows(device) ? Wide(device.state.*Rows) : kUnsupported;
}

Answer MemoryTemperature(const Device& device, uint32_t) {
  return Small(ReadSensors(device).memory_temperature);
}

Answer Energy(const Device& device, uint32_t) {
  const WideFact energy = ReadEnergy(device);
  return energy.known != 0 ? Wide(energy.value) : kUnsupported;
}

// The scope picks the sensor. An H200 measures the GPU alone: module and memory are unsupported,
// and the scope after them is unknown to driver 580.
Answer InScope(const Fact& fact, uint32_t scope) {
  if (scope > NVML_POWER_SCOPE_MEMORY) {
    return {NVML_ERROR_INVALID_ARGUMENT, NVML_VALUE_TYPE_UNSIGNED_INT, 0};
  }
  return scope == NVML_POWER_SCOPE_GPU ? Small(fact) : kUnsupported;
}

template <Fact Readings::*Reading>
Answer Power(const Device& device, uint32_t scope) {
  return InScope(ReadSensors(device).*Reading, scope);
}

template <Fact Board::*Limit>
Answer PowerFact(const Device& device, uint32_t scope) {
  return InScope(device.board->*Limit, scope);
}

Answer ResetlessMig(const Device& device, uint32_t) {
  if (!HasMig(*device.board)) return kUnsupported;
  return Small(device.board->mig_activation == MigActivation::kImmediate ? 1U : 0U);
}

Answer MigQueriesWithoutMig(const Device& device, uint32_t) {
  return HasMig(*device.board) ? Small(1U) : kUnsupported;
}

Answer ResetStatus(const Device& device, uint32_t) {
  return Small(device.state.reset_required != 0 ? 1U : 0U);
}

Answer DrainAndResetStatus(const Device& device, uint32_t) {
  const bool drain = device.state.recovery_action == NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET;
  return Small(drain ? 1U : 0U);
}

Answer RecoveryAction(const Device& device, uint32_t) {
  return Small(device.state.recovery_action);
}

struct Field {
  uint32_t id;
  Answer (*answer)(const Device& device, uint32_t scope);
};

constexpr Field kFields[] = {
    {NVML_FI_DEV_ECC_CURRENT, EccCurrent},
    {NVML_FI_DEV_ECC_PENDING, EccPending},
    {NVML_FI_DEV_ECC_SBE_VOL_TOTAL, EccTotal<&Gpu::ecc_volatile, 0>},
    {NVML_FI_DEV_ECC_DBE_VOL_TOTAL, EccTotal<&Gpu::ecc_volatile, 1>},
    {NVML_FI_DEV_ECC_SBE_AGG_TOTAL, EccTotal<&Gpu::ecc_aggregate, 0>},
    {NVML_FI_DEV_ECC_DBE_AGG_TOTAL, EccTotal<&Gpu::ecc_aggregate, 1>},
    {NVML_FI_DEV_MEMORY_TEMP, MemoryTemperature},
    {NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, Energy},
    {NVML_FI_DEV_REMAPPED_COR, RemappedRows<&Gpu::rows_corrected>},
    {NVML_FI_DEV_REMAPPED_UNC, RemappedRows<&Gpu::rows_uncorrected>},
    {NVML_FI_DEV_REMAPPED_PENDING, RemappedRows<&Gpu::rows_pending>},
    {NVML_FI_DEV_REMAPPED_FAILURE, RemappedRows<&Gpu::rows_failed>},
    {NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED, ResetlessMig},
    {NVML_FI_DEV_POWER_AVERAGE, Power<&Readings::power_mw>},
    {NVML_FI_DEV_POWER_INSTANT, Power<&Readings::power_mw>},
    {NVML_FI_DEV_POWER_MIN_LIMIT, PowerFact<&Board::power_min_mw>},
    {NVML_FI_DEV_POWER_MAX_LIMIT, PowerFact<&Board::power_max_mw>},
    {NVML_FI_DEV_POWER_DEFAULT_LIMIT, PowerFact<&Board::power_default_mw>},
    {NVML_FI_DEV_POWER_CURRENT_LIMIT, Power<&Readings::power_limit_mw>},
    {NVML_FI_DEV_ENERGY, Energy},
    {NVML_FI_DEV_POWER_REQUESTED_LIMIT, Power<&Readings::power_limit_mw>},
    {NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE, MigQueriesWithoutMig},
    {NVML_FI_DEV_RESET_STATUS, ResetStatus},
    {NVML_FI_DEV_DRAIN_AND_RESET_STATUS, DrainAndResetStatus},
    {NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, RecoveryAction},
};

// Ids that API 13.3 names and driver 580 does not know yet.
constexpr struct { uint32_t first, last; } kUnknownTo580[] = {{274, 274}, {289, 293}, {296, 300}};

Answer AnswerField(const Device& device, uint32_t id, uint32_t scope) {
  for (const Field& field : kFields) {
    if (field.id == id) return field.answer(device, scope);
  }
  bool known = id > 0 && id < NVML_FI_MAX;
  for (const auto& range : kUnknownTo580) {
    if (id >= range.first && id <= range.last) known = false;
  }
  Answer answer = kUnsupported;
  if (!known) answer.code = NVML_ERROR_INVALID_ARGUMENT;
  return answer;
}

// Microseconds of the wall clock, as a driver stamps its samples.
long long WallClockMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

}  // namespace

// Protocol D: the call succeeds and every entry carries its own code.
NVML_API(nvmlDeviceGetFieldValues, nvmlDevice_t handle, int count, nvmlFieldValue_t* values) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (count <= 0 || values == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < count; ++i) {
      const Answer answer = AnswerField(device, values[i].fieldId, values[i].scopeId);
      values[i].timestamp = WallClockMicroseconds();
      values[i].latencyUsec = 0;
      values[i].nvmlReturn = answer.code;
      if (answer.code != NVML_SUCCESS) continue;
      values[i].valueType = answer.type;
      values[i].value.ullVal = answer.value;
    }
    return NVML_SUCCESS;
  });
}

}  // namespace partita::sim::nvml
