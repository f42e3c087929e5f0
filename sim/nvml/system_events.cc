// Sets of system events: GPUs that are bound to the driver or taken from it. As NVIDIA's nvml.h
// (13.0, go-nvml 0.13) has it, and as an H200 with driver 580 answers
// (docs/hardware/h200/system-events.txt): one set may register in a session, again and again; any
// other gets 999, also when the first is free. Who does not wait is told 0 and no event.

#include <string.h>

#include "sim/nvml/api.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/session.h"
#include "sim/state/life.h"
#include "sim/state/time.h"

namespace partita::sim::nvml {
namespace {

constexpr uint32_t kMaxSystemSets = 16;
constexpr uint64_t kTypes = kSystemEventUnbind | kSystemEventBind;

struct SystemEventSet {
  uint64_t epoch;   // of the session that made it; another value: free
  uint64_t cursor;  // sequence of the first event not yet looked at
  uint64_t types;
  uint32_t waits;    // BeginWait
  uint32_t closing;  // somebody frees it: nobody begins to wait any more
};

// All under Session::events_lock.
SystemEventSet system_sets[kMaxSystemSets];
uint32_t next_system_set = 0;
uint64_t registered_in = 0;                     // the session that has its registration
const SystemEventSet* registered_by = nullptr;  // null: a set that is no more

SystemEventSet* FindSystemSet(nvmlSystemEventSet_t handle) {
  const uint32_t number = NumberOf(HandleKind::kSystemEventSet, handle);
  if (number >= kMaxSystemSets) return nullptr;
  const uint64_t epoch = CurrentEpoch();
  SystemEventSet& set = system_sets[number];
  return epoch != 0 && set.epoch == epoch && set.closing == 0 ? &set : nullptr;
}

uint64_t NextEvent() {
  return TheStore().Read([](const Slot& slot) { return slot.next_event; });
}

nvmlReturn_t CreateSystemSet(nvmlSystemEventSetCreateRequest_v1_t* request) {
  ScopedLock lock(&TheSession().events_lock);
  const uint64_t epoch = CurrentEpoch();
  for (uint32_t tried = 0; tried < kMaxSystemSets; ++tried) {
    const uint32_t number = next_system_set++ % kMaxSystemSets;
    if (system_sets[number].epoch == epoch) continue;
    system_sets[number] = {epoch, 0, 0, 0, 0};
    request->set =
        static_cast<nvmlSystemEventSet_t>(NumberedHandle(HandleKind::kSystemEventSet, number));
    return NVML_SUCCESS;
  }
  return NVML_ERROR_MEMORY;
}

nvmlReturn_t RegisterSystemEvents(const nvmlSystemRegisterEventRequest_v1_t& request) {
  const uint64_t now = NextEvent();
  ScopedLock lock(&TheSession().events_lock);
  SystemEventSet* set = FindSystemSet(request.set);
  if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if ((request.eventTypes & ~kTypes) != 0) return NVML_ERROR_NOT_SUPPORTED;
  if (registered_in == set->epoch && registered_by != set) return NVML_ERROR_UNKNOWN;
  registered_in = set->epoch;
  registered_by = set;
  set->types = request.eventTypes;
  set->cursor = now;
  return NVML_SUCCESS;
}

nvmlReturn_t FreeSystemSet(nvmlSystemEventSet_t handle) {
  SystemEventSet* set = nullptr;
  {
    ScopedLock lock(&TheSession().events_lock);
    set = FindSystemSet(handle);
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    set->closing = 1;
  }
  AwaitNoWaits(&set->waits);
  ScopedLock lock(&TheSession().events_lock);
  if (set->closing != 0) set->epoch = 0;  // else the session ended meanwhile: it is another's now
  if (registered_by == set) registered_by = nullptr;
  return NVML_SUCCESS;
}

struct SystemFinding {
  uint64_t cursor;
  Event event;  // sequence 0: none
};

SystemFinding LookForSystemEvent(const SystemEventSet& set, const Slot& slot) {
  SystemFinding finding{set.cursor, {}};
  const uint64_t end = slot.next_event;
  if (end > kMaxEvents && finding.cursor < end - kMaxEvents) finding.cursor = end - kMaxEvents;
  for (uint32_t step = 0; step < kMaxEvents && finding.cursor < end; ++step) {
    const Event& event = slot.events[finding.cursor % kMaxEvents];
    const bool whole = event.sequence == finding.cursor;
    ++finding.cursor;
    if (!whole || event.system == 0 || (event.type & set.types) == 0) continue;
    if (event.gpu >= kMaxGpus) continue;
    finding.event = event;
    break;
  }
  return finding;
}

// As many as there are, and as there is room for.
void Take(SystemEventSet* set, nvmlSystemEventSetWaitRequest_v1_t* request) {
  ScopedLock lock(&TheSession().events_lock);
  while (set->types != 0 && request->numEvent < request->dataSize) {
    const SystemFinding found =
        TheStore().Read([set](const Slot& slot) { return LookForSystemEvent(*set, slot); });
    set->cursor = found.cursor;
    if (found.event.sequence == 0) return;
    const PciFunction& pci = TheMachine().boards[found.event.gpu].pci;
    request->data[request->numEvent++] = {found.event.type,
                                          pci.domain << 16 | pci.bus << 8 | pci.device};
  }
}

nvmlReturn_t WaitInSystemSet(SystemEventSet* set, nvmlSystemEventSetWaitRequest_v1_t* request) {
  const uint64_t start = MonotonicNow();
  const uint64_t limit = request->timeoutms * kNanosPerMilli;
  for (;;) {
    const uint32_t seen = TheStore().Wakeups();
    if (IsCutOff()) return NVML_ERROR_UNKNOWN;
    Take(set, request);
    if (request->numEvent > 0 || limit == 0) return NVML_SUCCESS;
    const uint64_t gone = MonotonicNow() - start;
    if (gone >= limit) return NVML_ERROR_TIMEOUT;
    TheStore().Sleep(seen, limit - gone);
  }
}

nvmlReturn_t WaitForSystemEvents(nvmlSystemEventSetWaitRequest_v1_t* request) {
  request->numEvent = 0;
  if (request->data == nullptr || request->dataSize == 0) return NVML_ERROR_INVALID_ARGUMENT;
  SystemEventSet* set = nullptr;
  {
    ScopedLock lock(&TheSession().events_lock);
    set = FindSystemSet(request->set);
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    BeginWait(&set->waits);
  }
  const nvmlReturn_t code = WaitInSystemSet(set, request);
  EndWait(&set->waits);
  return code;
}

template <class Request, class F>
nvmlReturn_t AnswerRequest(const char* function, Request* request, unsigned int version, F body) {
  return SystemCall(function, [&] {
    if (request == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (request->version != version) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return body();
  });
}

}  // namespace

NVML_API(nvmlSystemEventSetCreate, nvmlSystemEventSetCreateRequest_v1_t* request) {
  return AnswerRequest(__func__, request, nvmlSystemEventSetCreateRequest_v1,
                       [&] { return CreateSystemSet(request); });
}

NVML_API(nvmlSystemEventSetFree, nvmlSystemEventSetFreeRequest_v1_t* request) {
  return AnswerRequest(__func__, request, nvmlSystemEventSetFreeRequest_v1,
                       [&] { return FreeSystemSet(request->set); });
}

NVML_API(nvmlSystemRegisterEvents, nvmlSystemRegisterEventRequest_v1_t* request) {
  return AnswerRequest(__func__, request, nvmlSystemRegisterEventRequest_v1,
                       [&] { return RegisterSystemEvents(*request); });
}

NVML_API(nvmlSystemEventSetWait, nvmlSystemEventSetWaitRequest_v1_t* request) {
  return AnswerRequest(__func__, request, nvmlSystemEventSetWaitRequest_v1,
                       [&] { return WaitForSystemEvents(request); });
}

}  // namespace partita::sim::nvml
