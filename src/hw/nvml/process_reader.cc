#include "hw/nvml/process_reader.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace partita::hw::nvml {
namespace {

constexpr unsigned long long kNotAvailable = std::numeric_limits<unsigned long long>::max();

using FunctionV1 = Function<decltype(nvmlDeviceGetComputeRunningProcesses)>;
using FunctionV2 = Function<decltype(nvmlDeviceGetComputeRunningProcesses_v2)>;

// One list under its three names.
struct List {
  const FunctionV1& v1;
  const FunctionV2& v2;
  const FunctionV2& v3;
  model::ProcessKind kind;
};

nvmlProcessInfo_t Longer(const nvmlProcessInfo_v1_t& entry) {
  return {entry.pid, entry.usedGpuMemory, kNoInstance, kNoInstance};
}
nvmlProcessInfo_t Longer(const nvmlProcessInfo_t& entry) { return entry; }

constexpr int kAttempts = 6;
// Drivers are known that write more than their header says (32 bytes under _v3): that must not end
// in somebody else's memory.
constexpr std::size_t kSpare = 2;

// The count goes in as room and comes out as need, and processes may start between two calls.
template <typename Entry, typename ListFunction>
std::vector<nvmlProcessInfo_t> Ask(DeviceCalls& calls,
                                   const ListFunction& function,
                                   nvmlReturn_t& code,
                                   std::optional<base::Error>& gap) {
  std::size_t capacity = 16;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::vector<Entry> list(capacity * kSpare);
    auto count = static_cast<unsigned>(capacity);
    code = calls.Raw(function, calls.device(), &count, list.data());
    if (code == NVML_SUCCESS) {
      list.resize(std::min<std::size_t>(count, capacity));
      std::vector<nvmlProcessInfo_t> entries;
      entries.reserve(list.size());
      for (const Entry& entry : list) entries.push_back(Longer(entry));
      return entries;
    }
    if (code != NVML_ERROR_INSUFFICIENT_SIZE) return {};
    const base::Result<std::size_t> room = RoomFor(function.name(), count);
    if (!room.ok()) {
      calls.AddProblem(room.error());
      gap = room.error();
      return {};
    }
    capacity = std::max(*room * 2, capacity * 2);
  }
  return {};
}

base::Error Unlisted(const model::Gpu& gpu, base::Error error) {
  const std::string node =
      gpu.minor ? "/dev/nvidia" + std::to_string(gpu.minor->value()) : "/dev/nvidia*";
  return std::move(error).WithHint("this driver does not tell: see who holds it (fuser -v " + node +
                                   "), then change it with nvidia-smi mig, or update the driver");
}

// A list that is not there leaves a gap; but the clients of MPS are compute processes too, and a
// board that draws nothing has nobody who draws on it.
void NoteMissing(DeviceCalls& calls,
                 const List& list,
                 const char* function,
                 nvmlReturn_t code,
                 model::Gpu& gpu) {
  calls.NoteGap(function, code, gpu.processes_error);
  if (!MeansAbsent(code) || gpu.processes_error || list.kind == model::ProcessKind::kMps) return;
  if (list.kind == model::ProcessKind::kGraphics && code == NVML_ERROR_NOT_SUPPORTED) return;
  gpu.processes_error = Unlisted(gpu, NvmlError(function, code));
}

// Version 2 first. Its records have had one shape since 450, while _v3 is not in 470 nor in 535.98,
// has 32 bytes from 535.43 to 535.86 and was seen with 16 in a newer driver (nvitop #79, #88, #89,
// #226); it tells nothing that version 2 does not. Version 1 does not tell the instance: such
// a process may be in any.
std::vector<nvmlProcessInfo_t> Read(DeviceCalls& calls, const List& list, model::Gpu& gpu) {
  nvmlReturn_t code = NVML_ERROR_FUNCTION_NOT_FOUND;
  const char* asked = list.v2.name();
  std::vector<nvmlProcessInfo_t> entries;
  if (list.v2.pointer() != nullptr) {
    entries = Ask<nvmlProcessInfo_t>(calls, list.v2, code, gpu.processes_error);
  } else if (list.v3.pointer() != nullptr) {
    asked = list.v3.name();
    entries = Ask<nvmlProcessInfo_t>(calls, list.v3, code, gpu.processes_error);
  } else if (list.v1.pointer() != nullptr) {
    asked = list.v1.name();
    entries = Ask<nvmlProcessInfo_v1_t>(calls, list.v1, code, gpu.processes_error);
  }
  if (code != NVML_SUCCESS) NoteMissing(calls, list, asked, code, gpu);
  return entries;
}

auto Place(const model::Process& process) {
  return std::tie(process.pid, process.gpu_instance, process.compute_instance);
}

std::string ProcessName(DeviceCalls& calls, unsigned pid) {
  std::array<char, 1024> text{};
  // A process that is gone by now has no name, which is no problem of the GPU.
  const nvmlReturn_t code =
      calls.Raw(calls.api().process_name, pid, text.data(), unsigned{text.size()});
  return code == NVML_SUCCESS ? text.data() : "";
}

model::Process ToProcess(const nvmlProcessInfo_t& entry, model::ProcessKind kind) {
  model::Process process;
  process.pid = model::Pid(entry.pid);
  process.kind = kind;
  if (entry.usedGpuMemory != kNotAvailable) process.memory = model::Bytes(entry.usedGpuMemory);
  if (entry.gpuInstanceId != kNoInstance)
    process.gpu_instance = model::GpuInstanceId(entry.gpuInstanceId);
  if (entry.computeInstanceId != kNoInstance)
    process.compute_instance = model::ComputeInstanceId(entry.computeInstanceId);
  return process;
}

}  // namespace

void ReadProcesses(DeviceCalls& calls, model::Gpu& gpu) {
  const Api& api = calls.api();
  const List lists[] = {
      {api.mps_processes_v1, api.mps_processes_v2, api.mps_processes_v3, model::ProcessKind::kMps},
      {api.compute_processes_v1, api.compute_processes_v2, api.compute_processes_v3,
       model::ProcessKind::kCompute},
      {api.graphics_processes_v1, api.graphics_processes_v2, api.graphics_processes_v3,
       model::ProcessKind::kGraphics}};
  for (const List& list : lists) {
    for (const nvmlProcessInfo_t& entry : Read(calls, list, gpu)) {
      model::Process process = ToProcess(entry, list.kind);
      const auto same = [&](const model::Process& known) {
        return known.kind == model::ProcessKind::kMps && Place(known) == Place(process);
      };
      if (std::any_of(gpu.processes.begin(), gpu.processes.end(), same)) continue;
      process.name = ProcessName(calls, entry.pid);
      gpu.processes.push_back(std::move(process));
    }
  }
}

}  // namespace partita::hw::nvml
