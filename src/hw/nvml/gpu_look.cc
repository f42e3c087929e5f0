#include "hw/nvml/gpu_look.h"

#include <utility>

#include <fmt/format.h>

#include "hw/nvml/device_calls.h"
#include "hw/nvml/device_reader.h"
#include "hw/nvml/errors.h"
#include "hw/nvml/mig_reader.h"
#include "hw/nvml/process_reader.h"

namespace partita::hw::nvml {
namespace {

std::string NameOf(const model::Gpu& gpu) {
  return gpu.index ? fmt::format("{}", *gpu.index) : gpu.pci.ToString();
}

void TakeIdentity(const model::Gpu& from, model::Gpu& into) {
  into.index = from.index;
  into.minor = from.minor;
  into.uuid = from.uuid;
  into.name = from.name;
  into.pci = from.pci;
  into.pci_device_id = from.pci_device_id;
  into.pci_subsystem_id = from.pci_subsystem_id;
  into.serial = from.serial;
  into.part_number = from.part_number;
  into.vbios = from.vbios;
  into.module_id = from.module_id;
  into.irq = from.irq;
  into.architecture = from.architecture;
  into.brand = from.brand;
  into.compute_major = from.compute_major;
  into.compute_minor = from.compute_minor;
  into.cores = from.cores;
  into.bar1 = from.bar1;
  into.pcie_generation_max = from.pcie_generation_max;
  into.pcie_width_max = from.pcie_width_max;
  into.addressing_mode = from.addressing_mode;
  into.virtualization_mode = from.virtualization_mode;
}

// The modes of a GPU without MIG leave it without; with it, what exists on it is kept.
void TakeModes(const model::Gpu& from, model::Gpu& into) {
  into.persistence = from.persistence;
  into.compute_mode = from.compute_mode;
  into.ecc = from.ecc;
  into.ecc_pending = from.ecc_pending;
  if (!from.mig) {
    into.mig.reset();
    into.mig_error = from.mig_error;
    return;
  }
  if (!into.mig) into.mig.emplace();
  into.mig->enabled = from.mig->enabled;
  into.mig->pending_enabled = from.mig->pending_enabled;
}

void ReadModes(DeviceCalls& calls, model::Gpu& gpu) {
  ReadBoardModes(calls, gpu);
  const std::optional<MigMode> mode = ReadMigMode(calls, gpu.mig_error);
  if (!mode) return;
  gpu.mig.emplace();
  gpu.mig->enabled = mode->enabled;
  gpu.mig->pending_enabled = mode->pending;
}

// Profiles do not change while a session lasts, but for drivers that list them only while MIG is
// on.
void ReadInstances(DeviceCalls& calls, const model::Gpu& known, model::Gpu& gpu) {
  OnlyMig depth{{}, true};
  if (known.mig) depth.profiles = known.mig->profiles;
  // The names of profiles depend on the board's memory.
  if (depth.profiles.empty()) gpu.memory = ReadMemory(calls, calls.device());
  ReadMig(calls, gpu, depth);
}

void ReadPart(Part part, const model::Gpu& known, DeviceCalls& calls, model::Gpu& gpu) {
  switch (part) {
    case Part::kIdentity:
      if (ReadIdentity(calls, gpu)) {
        ReadBoardConstants(calls, gpu);
      } else if (!calls.problems().empty()) {
        calls.AddFault(FaultOf(calls.problems().front(), calls.name()));
      }
      return;
    case Part::kModes: ReadModes(calls, gpu); return;
    case Part::kInstances: ReadInstances(calls, known, gpu); return;
    case Part::kReadings:
      ReadReadings(calls, gpu.readings);
      ReadBoardWear(calls, gpu);
      return;
    case Part::kHolders:
      gpu.memory = ReadMemory(calls, calls.device());
      ReadProcesses(calls, gpu);
      return;
  }
}

// Why a GPU that is on the bus has no handle.
void NotFound(const GpuQuestion& question, const base::Error& error, GpuAnswer& answer) {
  const int code = error.native() ? error.native()->value : NVML_ERROR_UNKNOWN;
  answer.session_lost = MeansSessionLost(code);
  if (answer.session_lost) return;
  if (code == NVML_ERROR_NOT_FOUND) {
    answer.fault = {model::FaultKind::kMissing,
                    "on the PCI bus with the driver bound, but its library does not list it: check "
                    "that this process may open its device node, and see the kernel log"};
    return;
  }
  answer.fault = FaultOf(error, NameOf(question.known));
}

base::Result<DeviceHandle> HandleFor(const Session& session,
                                     const GpuQuestion& question,
                                     CallWatch& watch) {
  if (question.handle && session.Use(*question.handle).ok()) return *question.handle;
  return session.FindDevice(question.pci, watch);
}

bool ModeChanged(const model::Gpu& known, const model::Gpu& now) {
  if (!now.mig) return false;
  return !known.mig || known.mig->enabled != now.mig->enabled;
}

}  // namespace

void Take(Part part, const model::Gpu& from, model::Gpu& into) {
  switch (part) {
    case Part::kIdentity: TakeIdentity(from, into); return;
    case Part::kModes: TakeModes(from, into); return;
    case Part::kInstances:
      into.mig = from.mig;
      into.mig_error = from.mig_error;
      return;
    case Part::kReadings:
      into.readings = from.readings;
      into.pcie_generation = from.pcie_generation;
      into.pcie_width = from.pcie_width;
      into.uncorrected_errors = from.uncorrected_errors;
      into.row_remapping = from.row_remapping;
      return;
    case Part::kHolders:
      into.memory = from.memory;
      into.processes = from.processes;
      into.processes_error = from.processes_error;
      return;
  }
}

void LookAt(const Session& session,
            const GpuQuestion& question,
            CallWatch& watch,
            const std::function<void(const GpuAnswer&)>& so_far) {
  GpuAnswer answer;
  const base::Result<DeviceHandle> handle = HandleFor(session, question, watch);
  if (!handle.ok()) {
    NotFound(question, handle.error(), answer);
    so_far(answer);
    return;
  }
  answer.handle = *handle;
  const base::Result<nvmlDevice_t> device = session.Use(*handle);
  if (!device.ok()) return;
  Caller call = session.CallerFor(watch);
  model::Gpu gpu = question.known;
  gpu.pci = question.pci;
  Parts parts = question.parts;
  for (const Part part : kParts) {
    if (!parts.Has(part)) continue;
    DeviceCalls calls(call, *device, NameOf(gpu));
    model::Gpu fresh;
    fresh.pci = question.pci;
    ReadPart(part, gpu, calls, fresh);
    answer.session_lost = answer.session_lost || calls.session_lost();
    if (part == Part::kModes && ModeChanged(gpu, fresh)) parts |= {Part::kInstances};
    Take(part, fresh, gpu);
    answer.parts.push_back({part, std::move(fresh), calls.faults(), calls.problems()});
    so_far(answer);
    if (calls.over()) return;
  }
}

}  // namespace partita::hw::nvml
