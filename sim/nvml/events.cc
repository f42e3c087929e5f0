// Event sets: private to the process, each with a place in the state's ring of events.

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/nvml/api.h"
#include "sim/nvml/descriptors.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/session.h"
#include "sim/state/time.h"

namespace partita::sim::nvml {
namespace {

constexpr uint32_t kMaxSets = 256;
// A freed handle is not given out again before so many others, and whoever makes one set after
// another touches no more than these.
constexpr uint32_t kTurn = 16;
constexpr uint32_t kEventBits = 16;

struct EventSet {
  uint64_t epoch;   // of the session that made it; another value: free
  uint64_t cursor;  // sequence of the first event not yet looked at
  uint64_t types[kMaxGpus];
  uint64_t since[kMaxGpus][kEventBits];  // first sequence wanted, per type
  uint32_t told_lost;                    // a wait has said that a registered GPU is lost
  uint32_t waits;                        // BeginWait
  uint32_t closing;                      // somebody frees it: nobody begins to wait any more
  int32_t nodes[kMaxGpus];               // of GPUs with a registration: a descriptor plus 1
};

// Made with the first set and kept for the life of the process; all under Session::events_lock.
EventSet* sets = nullptr;
uint32_t next_set = 0;

EventSet* FindEventSet(nvmlEventSet_t handle) {
  const uint32_t number = NumberOf(HandleKind::kEventSet, handle);
  if (sets == nullptr || number >= kMaxSets) return nullptr;
  const uint64_t epoch = CurrentEpoch();
  EventSet& set = sets[number];
  return epoch != 0 && set.epoch == epoch && set.closing == 0 ? &set : nullptr;
}

bool Wants(const EventSet& set, const Event& event) {
  if (event.system != 0) return false;
  if (event.gpu >= kMaxGpus || (set.types[event.gpu] & event.type) == 0) return false;
  for (uint32_t bit = 0; bit < kEventBits; ++bit) {
    if (event.type == 1ULL << bit) return event.sequence >= set.since[event.gpu][bit];
  }
  return false;
}

struct Finding {
  Event event;  // sequence 0: none
  uint64_t cursor;
  bool lost;
};

// The next event of the set. What the ring has dropped meanwhile is gone.
Finding LookForEvent(const EventSet& set, const Slot& slot) {
  Finding finding{{}, set.cursor, false};
  const uint64_t end = slot.next_event;
  if (end > kMaxEvents && finding.cursor < end - kMaxEvents) finding.cursor = end - kMaxEvents;
  for (uint32_t step = 0; step < kMaxEvents && finding.cursor < end; ++step) {
    const Event& event = slot.events[finding.cursor % kMaxEvents];
    const bool whole = event.sequence == finding.cursor;
    ++finding.cursor;
    if (whole && Wants(set, event)) {
      finding.event = event;
      return finding;
    }
  }
  for (uint32_t gpu = 0; gpu < kMaxGpus; ++gpu) {
    if (set.types[gpu] != 0 && slot.gpus[gpu].lost != 0) finding.lost = true;
  }
  return finding;
}

void Write(const Event& event, bool with_instances, nvmlEventData_t* out) {
  out->device = GpuHandle(event.gpu);
  out->eventType = event.type;
  out->eventData = event.data;
  if (!with_instances) return;  // the old record ends here
  out->gpuInstanceId = event.gpu_instance;
  out->computeInstanceId = event.compute_instance;
}

enum class Outcome { kEvent, kNewlyLost, kStillLost, kNothing };

// Of a set that is waited in.
Outcome TakeNext(EventSet* set, Event* event) {
  ScopedLock lock(&TheSession().events_lock);
  const Finding finding =
      TheStore().Read([set](const Slot& slot) { return LookForEvent(*set, slot); });
  set->cursor = finding.cursor;
  *event = finding.event;
  if (finding.event.sequence != 0) return Outcome::kEvent;
  if (!finding.lost) {
    set->told_lost = 0;
    return Outcome::kNothing;
  }
  const bool told = set->told_lost != 0;
  set->told_lost = 1;
  return told ? Outcome::kStillLost : Outcome::kNewlyLost;
}

// A lost GPU is told at once, and then after each full wait: a client that goes on waiting must not
// be sent round in circles. A set that is being freed, or goes with its session, is waited in to
// the end all the same: whoever frees it waits for that.
nvmlReturn_t WaitInEventSet(EventSet* set,
                            nvmlEventData_t* out,
                            unsigned int timeout_ms,
                            bool with_instances) {
  const uint64_t start = MonotonicNow();
  const uint64_t limit = timeout_ms * kNanosPerMilli;
  for (;;) {
    const uint32_t seen = TheStore().Wakeups();
    Event event{};
    const Outcome outcome = TakeNext(set, &event);
    if (IsCutOff()) return NVML_ERROR_UNKNOWN;
    if (outcome == Outcome::kNewlyLost) return NVML_ERROR_GPU_IS_LOST;
    if (outcome == Outcome::kEvent) {
      Write(event, with_instances, out);
      return NVML_SUCCESS;
    }
    const uint64_t gone = MonotonicNow() - start;
    if (gone >= limit) {
      return outcome == Outcome::kStillLost ? NVML_ERROR_GPU_IS_LOST : NVML_ERROR_TIMEOUT;
    }
    TheStore().Sleep(seen, limit - gone);
  }
}

nvmlReturn_t WaitForEvent(nvmlEventSet_t handle,
                          nvmlEventData_t* out,
                          unsigned int timeout_ms,
                          bool with_instances) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  EventSet* set = nullptr;
  {
    ScopedLock lock(&TheSession().events_lock);
    set = FindEventSet(handle);
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    BeginWait(&set->waits);
  }
  const nvmlReturn_t code = WaitInEventSet(set, out, timeout_ms, with_instances);
  EndWait(&set->waits);
  return code;
}

nvmlReturn_t CreateEventSet(nvmlEventSet_t* out) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const uint64_t now = TheStore().Read([](const Slot& slot) { return slot.next_event; });
  ScopedLock lock(&TheSession().events_lock);
  if (sets == nullptr) {
    void* room = mmap(nullptr, kMaxSets * sizeof(EventSet), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return NVML_ERROR_MEMORY;
    sets = static_cast<EventSet*>(room);
  }
  const uint64_t epoch = CurrentEpoch();
  for (uint32_t tried = 0; tried < kMaxSets; ++tried) {
    const uint32_t number = tried < kTurn ? (next_set + tried) % kTurn : tried;
    EventSet& set = sets[number];
    if (set.epoch == epoch) continue;
    next_set = number + 1;
    memset(static_cast<void*>(&set), 0, sizeof set);
    set.epoch = epoch;
    set.cursor = now;
    *out = static_cast<nvmlEventSet_t>(NumberedHandle(HandleKind::kEventSet, number));
    return NVML_SUCCESS;
  }
  return NVML_ERROR_MEMORY;
}

nvmlReturn_t RegisterEvents(uint32_t gpu, unsigned long long types, nvmlEventSet_t handle) {
  const uint64_t now = TheStore().Read([](const Slot& slot) { return slot.next_event; });
  ScopedLock lock(&TheSession().events_lock);
  EventSet* set = FindEventSet(handle);
  if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (uint32_t bit = 0; bit < kEventBits; ++bit) {
    const uint64_t type = 1ULL << bit;
    if ((types & type) != 0 && (set->types[gpu] & type) == 0) set->since[gpu][bit] = now;
  }
  set->types[gpu] |= types;
  if (set->types[gpu] != 0 && set->nodes[gpu] == 0) set->nodes[gpu] = OpenGpuNode(gpu) + 1;
  return NVML_SUCCESS;
}

// A set that is not freed keeps its nodes over the end of its session: only the process's own end
// closes them.
void CloseNodesOf(EventSet* set) {
  for (int32_t& node : set->nodes) {
    if (node != 0) close(node - 1);
    node = 0;
  }
}

nvmlReturn_t FreeEventSet(nvmlEventSet_t handle) {
  EventSet* set = nullptr;
  {
    ScopedLock lock(&TheSession().events_lock);
    set = FindEventSet(handle);
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    set->closing = 1;
  }
  AwaitNoWaits(&set->waits);
  ScopedLock lock(&TheSession().events_lock);
  if (set->closing == 0) return NVML_SUCCESS;  // the session ended meanwhile: it is another's now
  CloseNodesOf(set);
  set->epoch = 0;
  return NVML_SUCCESS;
}

}  // namespace

}  // namespace partita::sim::nvml

namespace nvml = partita::sim::nvml;

NVML_API(nvmlEventSetCreate, nvmlEventSet_t* set) {
  return nvml::SystemCall(__func__, [&] { return nvml::CreateEventSet(set); });
}

NVML_API(nvmlEventSetFree, nvmlEventSet_t set) {
  return nvml::LocalCall(__func__, [&] { return nvml::FreeEventSet(set); });
}

NVML_API(nvmlEventSetWait_v2, nvmlEventSet_t set, nvmlEventData_t* data, unsigned int timeout_ms) {
  return nvml::SystemCall(__func__,
                          [&] { return nvml::WaitForEvent(set, data, timeout_ms, true); });
}

NVML_API(nvmlEventSetWait, nvmlEventSet_t set, nvmlEventData_t* data, unsigned int timeout_ms) {
  return nvml::SystemCall(__func__,
                          [&] { return nvml::WaitForEvent(set, data, timeout_ms, false); });
}

NVML_API(nvmlDeviceGetSupportedEventTypes, nvmlDevice_t device, unsigned long long* types) {
  return nvml::GpuCall(__func__, device, [&](const nvml::Device& gpu) {
    return nvml::WriteValue<unsigned long long>(types, gpu.board->event_types);
  });
}

NVML_API(nvmlDeviceRegisterEvents,
         nvmlDevice_t device,
         unsigned long long types,
         nvmlEventSet_t set) {
  return nvml::GpuCall(__func__, device, [&](const nvml::Device& gpu) {
    if ((types & ~gpu.board->event_types) != 0) return NVML_ERROR_NOT_SUPPORTED;
    return nvml::RegisterEvents(gpu.gpu, types, set);
  });
}
