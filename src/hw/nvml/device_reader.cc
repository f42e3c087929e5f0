#include "hw/nvml/device_reader.h"

#include <fmt/format.h>

namespace partita::hw::nvml {
namespace {

model::Architecture ToArchitecture(std::uint32_t value) {
  using model::Architecture;
  for (const Architecture known :
       {Architecture::kKepler, Architecture::kMaxwell, Architecture::kPascal, Architecture::kVolta,
        Architecture::kTuring, Architecture::kAmpere, Architecture::kAda, Architecture::kHopper,
        Architecture::kBlackwell, Architecture::kRubin}) {
    if (static_cast<std::uint32_t>(known) == value) return known;
  }
  return Architecture::kUnknown;
}

std::optional<bool> ToBool(std::optional<nvmlEnableState_t> state) {
  if (!state) return std::nullopt;
  return *state == NVML_FEATURE_ENABLED;
}

template <typename Unit>
std::optional<Unit> In(std::optional<unsigned> value) {
  if (!value) return std::nullopt;
  return Unit(static_cast<typename Unit::ValueType>(*value));
}

// What the driver wants done, by the value of field 230.
std::string RecoveryText(unsigned action, std::string_view name) {
  switch (action) {
    case NVML_GPU_RECOVERY_ACTION_GPU_RESET:
      return "the driver asks for a reset: " + ResetAdvice(name);
    case NVML_GPU_RECOVERY_ACTION_NODE_REBOOT:
      return "the driver asks for a reboot of the node: drain it, then reboot";
    case NVML_GPU_RECOVERY_ACTION_DRAIN_P2P:
      return "the driver asks to drain peer traffic: stop workloads that span GPUs, then reset it";
    case NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET:
      return "the driver asks to drain and reset: start nothing new here, reset it once it is idle";
    default: return "the driver asks for a recovery action: see the kernel log";
  }
}

// The value of a field, if the driver knows it. The call answers for the batch, the element for
// itself.
std::optional<unsigned> UnsignedIn(const nvmlFieldValue_t& field) {
  if (field.nvmlReturn != NVML_SUCCESS || field.valueType != NVML_VALUE_TYPE_UNSIGNED_INT)
    return std::nullopt;
  return field.value.uiVal;
}

// Drivers before 570 know neither field.
std::optional<std::uint32_t> ReadRecovery(DeviceCalls& calls) {
  nvmlFieldValue_t fields[2] = {};
  fields[0].fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
  fields[1].fieldId = NVML_FI_DEV_RESET_STATUS;
  if (!calls.Ask(calls.api().field_values, 2, fields)) return std::nullopt;
  const std::optional<unsigned> told = UnsignedIn(fields[0]);
  const unsigned action = told.value_or(NVML_GPU_RECOVERY_ACTION_NONE);
  if (action != NVML_GPU_RECOVERY_ACTION_NONE) {
    calls.AddFault(
        {model::FaultKind::kRecoveryAction,
         fmt::format("{} (recovery action {})", RecoveryText(action, calls.name()), action)});
  }
  if (UnsignedIn(fields[1]).value_or(0) != 0) {
    calls.AddFault(
        {model::FaultKind::kResetRequired, "a reset is pending: " + ResetAdvice(calls.name())});
  }
  return told;
}

// As UUIDs are written. Empty where the fabric's manager has given none.
std::string ClusterText(const unsigned char (&bytes)[NVML_GPU_FABRIC_UUID_LEN]) {
  const std::string_view all(reinterpret_cast<const char*>(bytes), sizeof bytes);
  if (all.find_first_not_of('\0') == std::string_view::npos) return "";
  std::string text;
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

std::optional<model::Fabric> ReadFabric(DeviceCalls& calls) {
  nvmlGpuFabricInfo_t fabric{};
  if (!calls.Ask(calls.api().fabric, &fabric)) return std::nullopt;
  return model::Fabric{
      .joined = fabric.state == NVML_GPU_FABRIC_STATE_COMPLETED && fabric.status == NVML_SUCCESS,
      .cluster = ClusterText(fabric.clusterUuid),
      .clique = fabric.cliqueId};
}

void ReadArchitecture(DeviceCalls& calls, model::Gpu& gpu) {
  if (const auto value = calls.Get<nvmlDeviceArchitecture_t>(calls.api().architecture)) {
    gpu.architecture = ToArchitecture(*value);
  }
}

void ReadUncorrectedErrors(DeviceCalls& calls, model::Gpu& gpu) {
  const auto count = [&](nvmlEccCounterType_t counter) {
    return calls.Get<unsigned long long>(
        calls.api().ecc_errors, nvmlMemoryErrorType_t{NVML_MEMORY_ERROR_TYPE_UNCORRECTED}, counter);
  };
  const auto since_reset = count(NVML_VOLATILE_ECC);
  const auto in_all = count(NVML_AGGREGATE_ECC);
  if (!since_reset || !in_all) return;
  gpu.uncorrected_errors = {*since_reset, *in_all};
  if (*since_reset == 0) return;
  calls.AddFault({model::FaultKind::kMemoryErrors,
                  fmt::format("{} uncorrected since its last reset, so that results of that time "
                              "are in doubt: {}",
                              *since_reset, ResetAdvice(calls.name()))});
}

void ReadRowRemapping(DeviceCalls& calls, model::Gpu& gpu) {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (!calls.Ask(calls.api().remapped_rows, &corrected, &uncorrected, &pending, &failed)) return;
  gpu.row_remapping = {corrected, uncorrected, pending != 0, failed != 0};
  if (pending != 0) {
    calls.AddFault({model::FaultKind::kRemapPending,
                    fmt::format("a bad row of memory is replaced at the next reset: once the GPU "
                                "is idle, nvidia-smi -r -i {}",
                                calls.name())});
  }
  if (failed != 0) {
    calls.AddFault({model::FaultKind::kRemapFailed,
                    "a bad row of memory could not be replaced: take the GPU out of service, run "
                    "NVIDIA's field diagnostics and have the board replaced"});
  }
}

}  // namespace

bool ReadIdentity(DeviceCalls& calls, model::Gpu& gpu) {
  const Api& api = calls.api();
  nvmlPciInfo_t pci{};
  const bool located = calls.Ask(api.pci, &pci);
  if (located) {
    gpu.pci = {.domain = pci.domain,
               .bus = static_cast<std::uint8_t>(pci.bus),
               .device = static_cast<std::uint8_t>(pci.device),
               .function = 0};
    gpu.pci_device_id = pci.pciDeviceId;
    gpu.pci_subsystem_id = pci.pciSubSystemId;
  }
  gpu.index = In<model::GpuIndex>(calls.Get<unsigned>(api.index));
  if (gpu.index) calls.Rename(fmt::format("{}", *gpu.index));
  gpu.minor = In<model::DeviceMinor>(calls.Get<unsigned>(api.minor));
  if (auto uuid = calls.GetText<NVML_DEVICE_UUID_V2_BUFFER_SIZE>(api.uuid)) {
    gpu.uuid = model::GpuUuid(*std::move(uuid));
  }
  gpu.name = calls.GetText<NVML_DEVICE_NAME_V2_BUFFER_SIZE>(api.name).value_or("");
  return located && gpu.uuid.has_value();
}

std::optional<model::Memory> ReadMemory(DeviceCalls& calls, nvmlDevice_t device) {
  const Api& api = calls.api();
  nvmlMemory_v2_t memory{};
  memory.version = nvmlMemory_v2;
  const nvmlReturn_t code = calls.Raw(api.memory_v2, device, &memory);
  if (code == NVML_SUCCESS) {
    return model::Memory{.total = model::Bytes(memory.total),
                         .reserved = model::Bytes(memory.reserved),
                         .used = model::Bytes(memory.used),
                         .free = model::Bytes(memory.free)};
  }
  // Drivers before 510 know the first form alone, whose "used" includes what is reserved.
  if (!MeansAbsent(code)) {
    calls.Note(api.memory_v2.name(), code);
    return std::nullopt;
  }
  nvmlMemory_t plain{};
  if (!calls.Note(api.memory.name(), calls.Raw(api.memory, device, &plain))) return std::nullopt;
  return model::Memory{.total = model::Bytes(plain.total),
                       .reserved = model::Bytes(0),
                       .used = model::Bytes(plain.used),
                       .free = model::Bytes(plain.free),
                       .used_counts_reserve = true};
}

void ReadMigBoard(DeviceCalls& calls, model::Gpu& gpu) {
  gpu.recovery_action = ReadRecovery(calls);
  ReadArchitecture(calls, gpu);
  gpu.memory = ReadMemory(calls, calls.device());
}

void ReadBoardConstants(DeviceCalls& calls, model::Gpu& gpu) {
  const Api& api = calls.api();
  gpu.serial = calls.GetText<NVML_DEVICE_SERIAL_BUFFER_SIZE>(api.serial);
  gpu.part_number = calls.GetText<NVML_DEVICE_PART_NUMBER_BUFFER_SIZE>(api.part_number);
  gpu.vbios = calls.GetText<NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE>(api.vbios);
  gpu.module_id = calls.Get<unsigned>(api.module_id);
  gpu.irq = calls.Get<unsigned>(api.irq);
  ReadArchitecture(calls, gpu);
  gpu.brand = calls.Get<nvmlBrandType_t>(api.brand);
  int major = 0;
  int minor = 0;
  if (calls.Ask(api.compute_capability, &major, &minor)) {
    gpu.compute_major = major;
    gpu.compute_minor = minor;
  }
  gpu.cores = calls.Get<unsigned>(api.cores);
  if (const auto bar1 = calls.Get<nvmlBAR1Memory_t>(api.bar1)) {
    gpu.bar1 = model::Bytes(bar1->bar1Total);
  }
  gpu.pcie_generation_max = calls.Get<unsigned>(api.pcie_generation_max);
  gpu.pcie_width_max = calls.Get<unsigned>(api.pcie_width_max);
  nvmlDeviceAddressingMode_v1_t addressing{};
  addressing.version = nvmlDeviceAddressingMode_v1;
  if (calls.Ask(api.addressing_mode, &addressing)) gpu.addressing_mode = addressing.value;
  gpu.virtualization_mode = calls.Get<nvmlGpuVirtualizationMode_t>(api.virtualization_mode);
}

void ReadBoardModes(DeviceCalls& calls, model::Gpu& gpu) {
  const Api& api = calls.api();
  gpu.recovery_action = ReadRecovery(calls);
  gpu.persistence = ToBool(calls.Get<nvmlEnableState_t>(api.persistence_mode));
  if (const auto mode = calls.Get<nvmlComputeMode_t>(api.compute_mode); mode && *mode <= 3) {
    gpu.compute_mode = static_cast<model::ComputeMode>(*mode);
  }
  nvmlEnableState_t current = 0;
  nvmlEnableState_t pending = 0;
  if (calls.Ask(api.ecc_mode, &current, &pending)) {
    gpu.ecc = current == NVML_FEATURE_ENABLED;
    gpu.ecc_pending = pending == NVML_FEATURE_ENABLED;
  }
  gpu.fabric = ReadFabric(calls);
}

void ReadBoardWear(DeviceCalls& calls, model::Gpu& gpu) {
  gpu.pcie_generation = calls.Get<unsigned>(calls.api().pcie_generation);
  gpu.pcie_width = calls.Get<unsigned>(calls.api().pcie_width);
  ReadUncorrectedErrors(calls, gpu);
  ReadRowRemapping(calls, gpu);
}

void ReadBoard(DeviceCalls& calls, model::Gpu& gpu) {
  ReadBoardModes(calls, gpu);
  ReadBoardConstants(calls, gpu);
  gpu.memory = ReadMemory(calls, calls.device());
  ReadBoardWear(calls, gpu);
}

void ReadReadings(DeviceCalls& calls, model::Readings& readings) {
  const Api& api = calls.api();
  const auto clock = [&](nvmlClockType_t type) {
    return In<model::Megahertz>(calls.Get<unsigned>(api.clock, type));
  };
  if (const auto rates = calls.Get<nvmlUtilization_t>(api.utilization)) {
    readings.utilization = model::Percent(rates->gpu);
    readings.memory_utilization = model::Percent(rates->memory);
  }
  readings.temperature = In<model::Celsius>(
      calls.Get<unsigned>(api.temperature, nvmlTemperatureSensors_t{NVML_TEMPERATURE_GPU}));
  readings.power = In<model::Milliwatts>(calls.Get<unsigned>(api.power));
  readings.power_limit = In<model::Milliwatts>(calls.Get<unsigned>(api.power_limit));
  readings.graphics_clock = clock(NVML_CLOCK_GRAPHICS);
  readings.sm_clock = clock(NVML_CLOCK_SM);
  readings.memory_clock = clock(NVML_CLOCK_MEM);
  readings.video_clock = clock(NVML_CLOCK_VIDEO);
  readings.performance_state = calls.Get<nvmlPstates_t>(api.performance_state);
  if (readings.performance_state == NVML_PSTATE_UNKNOWN) readings.performance_state.reset();
}

}  // namespace partita::hw::nvml
