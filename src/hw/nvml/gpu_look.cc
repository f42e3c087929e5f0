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

// What an answer lacks is kept where it may be a call that failed.
template <typename Value>
void TakeField(const Value& from, Value& into, Gaps gaps) {
  if (gaps == Gaps::kTaken || from != Value{}) into = from;
}

void TakeIdentity(const model::Gpu& from, model::Gpu& into, Gaps gaps) {
  const auto take = [&](auto model::Gpu::*field) { TakeField(from.*field, into.*field, gaps); };
  into.pci = from.pci;
  take(&model::Gpu::index);
  take(&model::Gpu::minor);
  take(&model::Gpu::uuid);
  take(&model::Gpu::name);
  take(&model::Gpu::pci_device_id);
  take(&model::Gpu::pci_subsystem_id);
  take(&model::Gpu::serial);
  take(&model::Gpu::part_number);
  take(&model::Gpu::vbios);
  take(&model::Gpu::module_id);
  take(&model::Gpu::irq);
  take(&model::Gpu::architecture);
  take(&model::Gpu::brand);
  take(&model::Gpu::compute_major);
  take(&model::Gpu::compute_minor);
  take(&model::Gpu::cores);
  take(&model::Gpu::bar1);
  take(&model::Gpu::pcie_generation_max);
  take(&model::Gpu::pcie_width_max);
  take(&model::Gpu::addressing_mode);
  take(&model::Gpu::virtualization_mode);
}

// The modes of a GPU without MIG leave it without; with it, what exists on it is kept, and so it is
// where the mode could not be read.
void TakeModes(const model::Gpu& from, model::Gpu& into, Gaps gaps) {
  TakeField(from.persistence, into.persistence, gaps);
  TakeField(from.compute_mode, into.compute_mode, gaps);
  TakeField(from.ecc, into.ecc, gaps);
  TakeField(from.ecc_pending, into.ecc_pending, gaps);
  TakeField(from.recovery_action, into.recovery_action, gaps);
  TakeField(from.fabric, into.fabric, gaps);
  if (!from.mig) {
    if (!from.mig_error) into.mig.reset();
    into.mig_error = from.mig_error;
    return;
  }
  if (!into.mig) into.mig.emplace();
  into.mig->enabled = from.mig->enabled;
  into.mig->pending_enabled = from.mig->pending_enabled;
}

// A list with a gap is no list: the one before is shown, beside why.
void TakeInstances(const model::Gpu& from, model::Gpu& into, Gaps gaps) {
  into.mig_error = from.mig_error;
  if (gaps == Gaps::kKept && from.mig_error && into.mig) return;
  into.mig = from.mig;
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

void Take(Part part, const model::Gpu& from, model::Gpu& into, Gaps gaps) {
  switch (part) {
    case Part::kIdentity: TakeIdentity(from, into, gaps); return;
    case Part::kModes: TakeModes(from, into, gaps); return;
    case Part::kInstances: TakeInstances(from, into, gaps); return;
    case Part::kReadings:
      into.readings = from.readings;
      into.pcie_generation = from.pcie_generation;
      into.pcie_width = from.pcie_width;
      into.uncorrected_errors = from.uncorrected_errors;
      into.row_remapping = from.row_remapping;
      return;
    case Part::kHolders:
      TakeField(from.memory, into.memory, gaps);
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
