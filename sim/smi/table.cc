// The table that the tool prints without arguments. Widths and words are those of driver 580, from
// a captured H200 and, for MIG, from listings of A100, H100 and RTX PRO 6000 on 550 to 580.
#include <time.h>

#include <array>

#include "sim/smi/commands.h"
#include "sim/smi/output.h"

namespace partita::sim::smi {
namespace {

constexpr std::string_view kNotAvailable = "N/A";
constexpr std::array<std::string_view, 4> kTableModes = {"Default", "E. Thread", "Prohibited",
                                                         "E. Process"};
constexpr std::size_t kNameWidth = 27;
constexpr std::size_t kProcessNameWidth = 36;

std::string Mebibytes(unsigned long long bytes) { return fmt::format("{}MiB", bytes / kMebibyte); }

// Cut at the end, as GPU names are.
std::string Shortened(const std::string& name, std::size_t width) {
  return name.size() <= width ? name : name.substr(0, width - 3) + "...";
}

// Cut at the front, as process names are: the end of a path says more.
std::string LastPart(const std::string& name, std::size_t width) {
  return name.size() <= width ? name : "..." + name.substr(name.size() - (width - 3));
}

std::string TableWatts(std::optional<unsigned int> milliwatts) {
  return milliwatts ? fmt::format("{}W", (*milliwatts + 500) / 1000) : "N/A ";
}

std::string EccCell(const Nvml& nvml, nvmlDevice_t device, bool mig_enabled) {
  nvmlEnableState_t current{};
  nvmlEnableState_t pending{};
  if (nvml.nvmlDeviceGetEccMode(device, &current, &pending) != NVML_SUCCESS)
    return std::string(kNotAvailable);
  if (current == NVML_FEATURE_DISABLED) return "Off";
  if (mig_enabled) return "On";
  const auto errors =
      Ask<unsigned long long>(nvml.nvmlDeviceGetTotalEccErrors, device,
                              static_cast<unsigned int>(NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
                              static_cast<unsigned int>(NVML_VOLATILE_ECC));
  return errors ? fmt::format("{}", *errors) : std::string(kNotAvailable);
}

std::string ComputeModeCell(const Nvml& nvml, nvmlDevice_t device) {
  const auto mode = Ask<nvmlComputeMode_t>(nvml.nvmlDeviceGetComputeMode, device);
  const auto index = mode ? static_cast<std::size_t>(*mode) : kTableModes.size();
  return std::string(index < kTableModes.size() ? kTableModes[index] : kNotAvailable);
}

std::string MigModeCell(const std::optional<MigMode>& mig) {
  if (!mig) return std::string(kNotAvailable);
  return fmt::format("{}{}", mig->enabled ? "Enabled" : "Disabled",
                     mig->enabled != mig->pending ? "*" : "");
}

void SayTableHeader(const Nvml& nvml) {
  const time_t now = time(nullptr);
  tm parts = {};
  char date[64] = "";
  if (localtime_r(&now, &parts) != nullptr)
    strftime(date, sizeof date, "%a %b %e %H:%M:%S %Y", &parts);
  char driver[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = "N/A";
  nvml.nvmlSystemGetDriverVersion(driver, sizeof driver);
  const int cuda = Ask<int>(nvml.nvmlSystemGetCudaDriverVersion_v2).value_or(0);
  const std::string cuda_text = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  Say("{}       \n", date);
  Say("+-----------------------------------------------------------------------------------------+"
      "\n"
      "| NVIDIA-SMI {:<23}Driver Version: {:<15}CUDA Version: {:<9}|\n",
      driver, driver, cuda_text);
  Say("{}",
      "+-----------------------------------------+------------------------+----------------------+"
      "\n"
      "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC "
      "|\n"
      "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. "
      "|\n"
      "|                                         |                        |               MIG M. "
      "|\n"
      "|=========================================+========================+======================|"
      "\n");
}

std::string FirstGpuLine(const Nvml& nvml, const Device& device, bool mig_enabled) {
  const auto persistence = Ask<nvmlEnableState_t>(nvml.nvmlDeviceGetPersistenceMode, device.handle);
  std::string_view persistence_text = kNotAvailable;
  if (persistence) persistence_text = *persistence == NVML_FEATURE_ENABLED ? "On" : "Off";
  const std::string name =
      Shortened(AskText(nvml.nvmlDeviceGetName, device.handle).value_or("N/A"), kNameWidth);
  return fmt::format("|{:>4}  {:<27}    {:<3} |   {:<16} Off |{:>21} |\n", device.index, name,
                     persistence_text, device.bus_id, EccCell(nvml, device.handle, mig_enabled));
}

std::string SecondGpuLine(const Nvml& nvml, const Device& device) {
  const auto fan = Ask<unsigned int>(nvml.nvmlDeviceGetFanSpeed, device.handle);
  const auto heat = Ask<unsigned int>(nvml.nvmlDeviceGetTemperature, device.handle,
                                      static_cast<unsigned int>(NVML_TEMPERATURE_GPU));
  const auto state = Ask<nvmlPstates_t>(nvml.nvmlDeviceGetPerformanceState, device.handle);
  nvmlMemory_v2_t memory = {};
  memory.version = nvmlMemory_v2;
  const bool memory_known = nvml.nvmlDeviceGetMemoryInfo_v2(device.handle, &memory) == NVML_SUCCESS;
  const auto rates = Ask<nvmlUtilization_t>(nvml.nvmlDeviceGetUtilizationRates, device.handle);
  const std::string not_available(kNotAvailable);
  return fmt::format(
      "|{:>4}{:>6}    {:<3}{:>15} / {:>5} |{} |{:>8}{:>13} |\n",
      fan ? fmt::format("{}%", *fan) : not_available,
      heat ? fmt::format("{}C", *heat) : not_available,
      state ? fmt::format("P{}", static_cast<int>(*state)) : not_available,
      TableWatts(Ask<unsigned int>(nvml.nvmlDeviceGetPowerUsage, device.handle)),
      TableWatts(Ask<unsigned int>(nvml.nvmlDeviceGetEnforcedPowerLimit, device.handle)),
      memory_known ? fmt::format("{:>11} / {:>9}", Mebibytes(memory.used), Mebibytes(memory.total))
                   : fmt::format("{:>21}  ", kNotAvailable),
      rates ? fmt::format("{}%", rates->gpu) : not_available, ComputeModeCell(nvml, device.handle));
}

void SayGpu(const Nvml& nvml, const Device& device) {
  const std::optional<MigMode> mig = AskMigMode(nvml, device.handle);
  Say("{}{}", FirstGpuLine(nvml, device, mig && mig->enabled), SecondGpuLine(nvml, device));
  Say("|                                         |                        |{:>21} |\n"
      "+-----------------------------------------+------------------------+----------------------+"
      "\n",
      MigModeCell(mig));
}

std::string Usage(std::optional<unsigned long long> used, std::optional<unsigned long long> total) {
  if (!used || !total) return fmt::format("{:>34}", "N/A    ");
  return fmt::format("{:<34}", fmt::format("{:>19} / {:>8}", Mebibytes(*used), Mebibytes(*total)));
}

void SayMigDevice(const Nvml& nvml, const Device& device, const MigDevice& mig) {
  const auto memory = Ask<nvmlMemory_t>(nvml.nvmlDeviceGetMemoryInfo, mig.handle);
  const auto bar1 = Ask<nvmlBAR1Memory_t>(nvml.nvmlDeviceGetBAR1MemoryInfo, mig.handle);
  const auto sizes = Ask<nvmlDeviceAttributes_t>(nvml.nvmlDeviceGetAttributes_v2, mig.handle)
                         .value_or(nvmlDeviceAttributes_t{});
  const std::string ecc = EccCell(nvml, device.handle, false);
  Say("|{:>3}{:>5}{:>4}{:>4}  |{}| {:<3}{:>6} |{:>3}{:>4}{:>5}{:>5}{:>5} |\n", device.index,
      mig.gpu_instance, mig.compute_instance, mig.number,
      memory ? Usage(memory->used, memory->total) : Usage({}, {}), sizes.multiprocessorCount,
      ecc == "Off" ? std::string(kNotAvailable) : ecc, sizes.sharedCopyEngineCount,
      sizes.sharedEncoderCount, sizes.sharedDecoderCount, sizes.sharedOfaCount,
      sizes.sharedJpegCount);
  Say("|                  |{}|           |                       |\n"
      "+------------------+----------------------------------+-----------+-----------------------+"
      "\n",
      bar1 ? Usage(bar1->bar1Used, bar1->bar1Total) : Usage({}, {}));
}

// Only where some GPU shown has MIG enabled.
void SayMigDevices(const Nvml& nvml, const std::vector<Device>& devices) {
  bool any_enabled = false;
  for (const Device& device : devices) {
    const std::optional<MigMode> mig = AskMigMode(nvml, device.handle);
    any_enabled = any_enabled || (mig && mig->enabled);
  }
  if (!any_enabled) return;
  Say("{}",
      "\n"
      "+-----------------------------------------------------------------------------------------+"
      "\n"
      "| MIG devices:                                                                            "
      "|\n"
      "+------------------+----------------------------------+-----------+-----------------------+"
      "\n"
      "| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         "
      "|\n"
      "|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG "
      "|\n"
      "|                  |                                  |        ECC|                       "
      "|\n"
      "|==================+==================================+===========+=======================|"
      "\n");
  bool any_device = false;
  for (const Device& device : devices) {
    for (const MigDevice& mig : MigDevicesOf(nvml, device.handle)) {
      SayMigDevice(nvml, device, mig);
      any_device = true;
    }
  }
  if (any_device) return;
  Say("{}",
      "|  No MIG devices found                                                                   "
      "|\n"
      "+-----------------------------------------------------------------------------------------+"
      "\n");
}

std::string InstanceCell(std::optional<unsigned int> id) {
  return id ? fmt::format("{:>2} ", *id) : std::string(kNotAvailable);
}

void SayProcesses(const Nvml& nvml, const std::vector<Device>& devices) {
  Say("{}",
      "\n"
      "+-----------------------------------------------------------------------------------------+"
      "\n"
      "| Processes:                                                                              "
      "|\n"
      "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory "
      "|\n"
      "|        ID   ID                                                               Usage      "
      "|\n"
      "|=========================================================================================|"
      "\n");
  bool any = false;
  for (const Device& device : devices) {
    for (const Process& process : ProcessesOf(nvml, device.handle)) {
      Say("|{:>5}   {:>3}  {:>3}{:>16}{:>7}   {:<36}{:>10} |\n", device.index,
          InstanceCell(process.gpu_instance), InstanceCell(process.compute_instance), process.pid,
          process.type, LastPart(process.name, kProcessNameWidth),
          process.memory ? Mebibytes(*process.memory) : std::string(kNotAvailable));
      any = true;
    }
  }
  if (!any) {
    Say("{}",
        "|  No running processes found                                                             "
        "|\n");
  }
  Say("{}",
      "+-----------------------------------------------------------------------------------------+"
      "\n");
}

}  // namespace

int ShowTable(const Nvml& nvml, const Ids& ids) {
  int status = 0;
  const std::optional<std::vector<Device>> devices = SelectDevices(nvml, ids, &status);
  if (!devices) return status;
  SayTableHeader(nvml);
  for (const Device& device : *devices) SayGpu(nvml, device);
  SayMigDevices(nvml, *devices);
  SayProcesses(nvml, *devices);
  return 0;
}

}  // namespace partita::sim::smi
