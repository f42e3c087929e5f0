// --query-gpu and --query-compute-apps as CSV. One row of a table per field.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "sim/smi/commands.h"
#include "sim/smi/output.h"

namespace partita::sim::smi {
namespace {

constexpr char kNoValue[] = "[N/A]";
constexpr std::array<std::string_view, 4> kQueriedModes = {"Default", "Exclusive_Thread",
                                                           "Prohibited", "Exclusive_Process"};

struct Format {
  bool header = true;
  bool units = true;
};

std::optional<Format> ParseFormat(const std::string& text) {
  Format format;
  bool csv = false;
  if (text.empty()) {
    Say("{}", "\"--format=\" is missing: use csv, with noheader and nounits where wanted.\n");
    return std::nullopt;
  }
  for (const std::string_view word : base::Split(text, ',')) {
    const std::string_view option = base::Trim(word);
    if (option == "csv") {
      csv = true;
    } else if (option == "noheader") {
      format.header = false;
    } else if (option == "nounits") {
      format.units = false;
    } else {
      Say("Invalid format option \"{}\": use csv, noheader and nounits.\n", option);
      return std::nullopt;
    }
  }
  if (csv) return format;
  Say("{}", "\"--format=\" lacks csv, the only format there is.\n");
  return std::nullopt;
}

struct Asked {
  const Nvml& nvml;
  const Device& device;
  const Process* process = nullptr;  // --query-compute-apps only
};

struct Field {
  std::string_view name;
  std::string_view alias;  // another name that is taken, or ""
  std::string_view unit;   // "MiB", or ""
  std::string (*read)(const Asked&);
};

template <typename Number>
std::string OrNotAvailable(const std::optional<Number>& number) {
  return number ? fmt::format("{}", *number) : kNoValue;
}

template <typename Call>
std::string Text(Call call, const Asked& asked) {
  return AskText(call, asked.device.handle).value_or(kNoValue);
}

std::string Memory(const Asked& asked, unsigned long long nvmlMemory_v2_t::*part) {
  nvmlMemory_v2_t memory = {};
  memory.version = nvmlMemory_v2;
  if (asked.nvml.nvmlDeviceGetMemoryInfo_v2(asked.device.handle, &memory) != NVML_SUCCESS)
    return kNoValue;
  return fmt::format("{}", memory.*part / kMebibyte);
}

std::string QueriedWatts(std::optional<unsigned int> milliwatts) {
  return milliwatts ? fmt::format("{:.2f}", *milliwatts / 1000.0) : kNoValue;
}

std::string Clock(const Asked& asked, nvmlClockType_t type) {
  return OrNotAvailable(Ask<unsigned int>(asked.nvml.nvmlDeviceGetClockInfo, asked.device.handle,
                                          static_cast<unsigned int>(type)));
}

std::string Switch(bool on) { return on ? "Enabled" : "Disabled"; }

std::string Mig(const Asked& asked, bool MigMode::*which) {
  const std::optional<MigMode> mig = AskMigMode(asked.nvml, asked.device.handle);
  return mig ? Switch((*mig).*which) : kNoValue;
}

std::string Ecc(const Asked& asked, bool pending) {
  nvmlEnableState_t states[2] = {};
  if (asked.nvml.nvmlDeviceGetEccMode(asked.device.handle, &states[0], &states[1]) != NVML_SUCCESS)
    return kNoValue;
  return Switch(states[pending ? 1 : 0] == NVML_FEATURE_ENABLED);
}

std::string ComputeMode(const Asked& asked) {
  const auto mode =
      Ask<nvmlComputeMode_t>(asked.nvml.nvmlDeviceGetComputeMode, asked.device.handle);
  const auto index = mode ? static_cast<std::size_t>(*mode) : kQueriedModes.size();
  return std::string(index < kQueriedModes.size() ? kQueriedModes[index] : kNoValue);
}

std::string ComputeCapability(const Asked& asked) {
  int major = 0;
  int minor = 0;
  if (asked.nvml.nvmlDeviceGetCudaComputeCapability(asked.device.handle, &major, &minor) !=
      NVML_SUCCESS)
    return kNoValue;
  return fmt::format("{}.{}", major, minor);
}

std::string DriverVersion(const Asked& asked) {
  char version[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = "";
  asked.nvml.nvmlSystemGetDriverVersion(version, sizeof version);
  return version;
}

std::string Persistence(const Asked& asked) {
  const auto mode =
      Ask<nvmlEnableState_t>(asked.nvml.nvmlDeviceGetPersistenceMode, asked.device.handle);
  return mode ? Switch(*mode == NVML_FEATURE_ENABLED) : kNoValue;
}

std::string PerformanceState(const Asked& asked) {
  const auto state =
      Ask<nvmlPstates_t>(asked.nvml.nvmlDeviceGetPerformanceState, asked.device.handle);
  return state ? fmt::format("P{}", static_cast<int>(*state)) : kNoValue;
}

std::string Utilization(const Asked& asked, unsigned int nvmlUtilization_t::*part) {
  const auto rates =
      Ask<nvmlUtilization_t>(asked.nvml.nvmlDeviceGetUtilizationRates, asked.device.handle);
  return rates ? fmt::format("{}", (*rates).*part) : kNoValue;
}

// clang-format off
constexpr Field kGpuFields[] = {
    {"index", "", "", [](const Asked& a) { return fmt::format("{}", a.device.index); }},
    {"count", "", "", [](const Asked& a) { return OrNotAvailable(Ask<unsigned int>(a.nvml.nvmlDeviceGetCount_v2)); }},
    {"name", "gpu_name", "", [](const Asked& a) { return Text(a.nvml.nvmlDeviceGetName, a); }},
    {"uuid", "gpu_uuid", "", [](const Asked& a) { return Text(a.nvml.nvmlDeviceGetUUID, a); }},
    {"serial", "gpu_serial", "", [](const Asked& a) { return Text(a.nvml.nvmlDeviceGetSerial, a); }},
    {"pci.bus_id", "gpu_bus_id", "", [](const Asked& a) { return a.device.bus_id; }},
    {"vbios_version", "", "", [](const Asked& a) { return Text(a.nvml.nvmlDeviceGetVbiosVersion, a); }},
    {"driver_version", "", "", DriverVersion},
    {"compute_cap", "", "", ComputeCapability},
    {"memory.total", "", "MiB", [](const Asked& a) { return Memory(a, &nvmlMemory_v2_t::total); }},
    {"memory.reserved", "", "MiB", [](const Asked& a) { return Memory(a, &nvmlMemory_v2_t::reserved); }},
    {"memory.used", "", "MiB", [](const Asked& a) { return Memory(a, &nvmlMemory_v2_t::used); }},
    {"memory.free", "", "MiB", [](const Asked& a) { return Memory(a, &nvmlMemory_v2_t::free); }},
    {"utilization.gpu", "", "%", [](const Asked& a) { return Utilization(a, &nvmlUtilization_t::gpu); }},
    {"utilization.memory", "", "%", [](const Asked& a) { return Utilization(a, &nvmlUtilization_t::memory); }},
    {"temperature.gpu", "", "", [](const Asked& a) { return OrNotAvailable(Ask<unsigned int>(a.nvml.nvmlDeviceGetTemperature, a.device.handle, static_cast<unsigned int>(NVML_TEMPERATURE_GPU))); }},
    {"power.draw", "", "W", [](const Asked& a) { return QueriedWatts(Ask<unsigned int>(a.nvml.nvmlDeviceGetPowerUsage, a.device.handle)); }},
    {"power.limit", "enforced.power.limit", "W", [](const Asked& a) { return QueriedWatts(Ask<unsigned int>(a.nvml.nvmlDeviceGetEnforcedPowerLimit, a.device.handle)); }},
    {"clocks.current.graphics", "clocks.gr", "MHz", [](const Asked& a) { return Clock(a, NVML_CLOCK_GRAPHICS); }},
    {"clocks.current.sm", "clocks.sm", "MHz", [](const Asked& a) { return Clock(a, NVML_CLOCK_SM); }},
    {"clocks.current.memory", "clocks.mem", "MHz", [](const Asked& a) { return Clock(a, NVML_CLOCK_MEM); }},
    {"pstate", "", "", PerformanceState},
    {"mig.mode.current", "", "", [](const Asked& a) { return Mig(a, &MigMode::enabled); }},
    {"mig.mode.pending", "", "", [](const Asked& a) { return Mig(a, &MigMode::pending); }},
    {"ecc.mode.current", "", "", [](const Asked& a) { return Ecc(a, false); }},
    {"ecc.mode.pending", "", "", [](const Asked& a) { return Ecc(a, true); }},
    {"compute_mode", "", "", ComputeMode},
    {"persistence_mode", "", "", Persistence},
};

constexpr Field kAppFields[] = {
    {"pid", "", "", [](const Asked& a) { return fmt::format("{}", a.process->pid); }},
    {"process_name", "name", "", [](const Asked& a) { return a.process->name; }},
    {"used_gpu_memory", "used_memory", "MiB", [](const Asked& a) { return a.process->memory ? fmt::format("{}", *a.process->memory / kMebibyte) : kNoValue; }},
    {"gpu_name", "", "", [](const Asked& a) { return Text(a.nvml.nvmlDeviceGetName, a); }},
    {"gpu_uuid", "", "", [](const Asked& a) { return Text(a.nvml.nvmlDeviceGetUUID, a); }},
    {"gpu_serial", "", "", [](const Asked& a) { return Text(a.nvml.nvmlDeviceGetSerial, a); }},
    {"gpu_bus_id", "", "", [](const Asked& a) { return a.device.bus_id; }},
};
// clang-format on

std::optional<std::vector<const Field*>> ParseFields(std::span<const Field> known,
                                                     const std::string& text) {
  std::vector<const Field*> fields;
  for (const std::string_view word : base::Split(text, ',')) {
    const std::string_view name = base::Trim(word);
    const auto field = std::find_if(known.begin(), known.end(), [&](const Field& each) {
      return !name.empty() && (each.name == name || each.alias == name);
    });
    if (field == known.end()) {
      Say("Field \"{}\" is not a valid field to query.\n\n", name);
      return std::nullopt;
    }
    fields.push_back(&*field);
  }
  return fields;
}

void SayRow(const std::vector<const Field*>& fields, const Asked& asked, const Format& format) {
  std::vector<std::string> cells;
  for (const Field* field : fields) {
    std::string cell = field->read(asked);
    if (format.units && !field->unit.empty() && cell != kNoValue)
      cell += fmt::format(" {}", field->unit);
    cells.push_back(std::move(cell));
  }
  Say("{}\n", base::Join(cells, ", "));
}

// The header names a field as the tool does, whichever name was asked for.
void SayFieldNames(const std::vector<const Field*>& fields) {
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const Field* field : fields) {
    names.push_back(field->unit.empty() ? std::string(field->name)
                                        : fmt::format("{} [{}]", field->name, field->unit));
  }
  Say("{}\n", base::Join(names, ", "));
}

template <typename Rows>
int Query(const Nvml& nvml,
          const Ids& ids,
          std::span<const Field> known,
          const std::string& field_text,
          const std::string& format_text,
          Rows rows) {
  const std::optional<Format> format = ParseFormat(format_text);
  if (!format) return NVML_ERROR_INVALID_ARGUMENT;
  const std::optional<std::vector<const Field*>> fields = ParseFields(known, field_text);
  if (!fields) return NVML_ERROR_INVALID_ARGUMENT;
  int status = 0;
  const std::optional<std::vector<Device>> devices = SelectDevices(nvml, ids, &status);
  if (!devices) return status;
  if (format->header) SayFieldNames(*fields);
  for (const Device& device : *devices) rows(device, *fields, *format);
  return 0;
}

}  // namespace

int QueryGpus(const Nvml& nvml,
              const Ids& ids,
              const std::string& fields,
              const std::string& format) {
  return Query(nvml, ids, kGpuFields, fields, format,
               [&](const Device& device, const std::vector<const Field*>& chosen, Format shape) {
                 SayRow(chosen, {nvml, device}, shape);
               });
}

int QueryComputeApps(const Nvml& nvml,
                     const Ids& ids,
                     const std::string& fields,
                     const std::string& format) {
  return Query(nvml, ids, kAppFields, fields, format,
               [&](const Device& device, const std::vector<const Field*>& chosen, Format shape) {
                 for (const Process& process : ProcessesOf(nvml, device.handle)) {
                   if (process.type != "G") SayRow(chosen, {nvml, device, &process}, shape);
                 }
               });
}

}  // namespace partita::sim::smi
