#include "hw/nvml/events.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "hw/nvml/errors.h"

namespace partita::hw::nvml {
namespace {

struct KindRow {
  unsigned long long bit;
  EventKind kind;
};
// Clocks and performance states change all the time and mean nothing to us.
constexpr KindRow kKinds[] = {
    {nvmlEventTypeXidCriticalError, EventKind::kXid},
    {nvmlEventMigConfigChange, EventKind::kMigChanged},
    {nvmlEventTypeDoubleBitEccError, EventKind::kMemory},
    {nvmlEventTypeSingleBitEccErrorStorm, EventKind::kMemory},
    {nvmlEventTypeDramRetirementEvent, EventKind::kMemory},
    {nvmlEventTypeDramRetirementFailure, EventKind::kMemory},
    {nvmlEventTypeNonFatalPoisonError, EventKind::kMemory},
    {nvmlEventTypeFatalPoisonError, EventKind::kMemory},
    {nvmlEventTypeGpuUnavailableError, EventKind::kUnavailable},
    {nvmlEventTypeGpuRecoveryAction, EventKind::kRecoveryAction},
};

unsigned long long WantedTypes() {
  unsigned long long types = 0;
  for (const KindRow& row : kKinds) types |= row.bit;
  return types;
}

template <typename Id>
std::optional<Id> InstanceOf(unsigned id) {
  if (id == kNoInstance) return std::nullopt;
  return Id(id);
}

// In a job. The library takes one registration for system events in a session and answers "unknown
// error" to a second; where there is none at all, the kernel's messages and looks tell the same.
nvmlSystemEventSet_t MakeSystemSet(Caller call) {
  nvmlSystemEventSetCreateRequest_v1_t made{nvmlSystemEventSetCreateRequest_v1, nullptr};
  if (call(call.api.system_event_set_create, &made) != NVML_SUCCESS) return nullptr;
  nvmlSystemRegisterEventRequest_v1_t wanted{
      nvmlSystemRegisterEventRequest_v1,
      nvmlSystemEventTypeGpuDriverUnbind | nvmlSystemEventTypeGpuDriverBind, made.set};
  if (call(call.api.register_system_events, &wanted) == NVML_SUCCESS) return made.set;
  nvmlSystemEventSetFreeRequest_v1_t over{nvmlSystemEventSetFreeRequest_v1, made.set};
  (void)call(call.api.system_event_set_free, &over);
  return nullptr;
}

}  // namespace

struct Events::State : std::enable_shared_from_this<Events::State> {
  State(Driver& its_driver, Listener its_listener, std::chrono::milliseconds its_tick)
      : driver(its_driver), listener(std::move(its_listener)), tick(its_tick) {}

  Driver& driver;
  const Listener listener;
  const std::chrono::milliseconds tick;
  std::atomic<bool> stopping = false;  // and nobody is to be called
  std::atomic<bool> unwanted = false;

  std::mutex mutex;
  // Guarded by `mutex` until the thread runs, then the thread's own.
  std::unique_ptr<Driver::Share> share;
  nvmlEventSet_t set = nullptr;
  nvmlSystemEventSet_t system_set = nullptr;  // null: this library has no system events
  std::map<nvmlDevice_t, model::PciAddress> gpus;
  std::vector<model::PciAddress> unmonitored;
  std::size_t awaited = 0;
  bool begun = false;  // what comes back from a GPU later is too late
  std::thread thread;

  [[nodiscard]] const Api& api() const { return share->session().library().api(); }

  void FreeSystemSet() {
    nvmlSystemEventSetFreeRequest_v1_t request{nvmlSystemEventSetFreeRequest_v1, system_set};
    if (system_set != nullptr) (void)api().system_event_set_free.pointer()(&request);
    system_set = nullptr;
  }
  // The library keeps a node of a GPU open for a set that nobody frees.
  void End(Events::End end, std::optional<base::Error> why) {
    if (set != nullptr) (void)api().event_set_free.pointer()(set);
    set = nullptr;
    FreeSystemSet();
    share.reset();
    if (!stopping) listener.ended(end, std::move(why));
  }

  // Nothing: the wait has begun without whoever asks.
  [[nodiscard]] std::optional<nvmlEventSet_t> SetToFill() {
    const std::scoped_lock lock(mutex);
    return begun ? std::nullopt : std::optional(set);
  }
  std::optional<base::Error> Prepare(const Session& session, CallWatch& watch);
  void LookAtSystem();
  void Register(const std::vector<model::PciAddress>& addresses);
  void RegisterOne(const model::PciAddress& pci, const Session& session, CallWatch& watch);
  void Registered(const model::PciAddress& pci);
  void Run();
  [[nodiscard]] std::optional<Event> ToEvent(const nvmlEventData_t& data) const;
  void StartThread();
};

Events::Events(Driver& driver, Listener listener, std::chrono::milliseconds tick)
    : state_(std::make_shared<State>(driver, std::move(listener), tick)) {}

Events::~Events() {
  state_->stopping = true;
  std::thread thread;
  {
    const std::scoped_lock lock(state_->mutex);
    thread = std::move(state_->thread);
  }
  if (thread.joinable()) thread.join();
}

void Events::Start(std::vector<model::PciAddress> gpus) {
  state_->unwanted = false;
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->thread.joinable()) state_->thread.join();  // it has ended: this waits for nothing
    state_->begun = false;
    state_->gpus.clear();
    state_->unmonitored.clear();
    state_->awaited = gpus.size();
  }
  const auto error = std::make_shared<std::optional<base::Error>>();
  state_->driver.Submit(
      "", state_->driver.LimitsFor({}),
      [state = state_, error](const Session& session, CallWatch& watch) {
        *error = state->Prepare(session, watch);
      },
      [state = state_, error, gpus = std::move(gpus)](const Driver::Report& report) {
        if (report.Done() && !*error) {
          std::unique_lock lock(state->mutex);
          const bool released = state->share == nullptr;
          lock.unlock();
          if (!released) return state->Register(gpus);
          if (!state->stopping) state->listener.ended(End::kReleased, std::nullopt);
          return;
        }
        std::optional<base::Error> why = report.error ? report.error : *error;
        if (!why) why = base::Error(base::ErrorCode::kTimeout, "the driver does not answer");
        if (!state->stopping) state->listener.ended(End::kFailed, std::move(why));
      });
}

void Events::Stop() { state_->unwanted = true; }

// Makes the sets and keeps their session. Without a share, and without sets, if somebody began to
// wait for its end meanwhile.
std::optional<base::Error> Events::State::Prepare(const Session& session, CallWatch& watch) {
  Caller call = session.CallerFor(watch);
  nvmlEventSet_t made = nullptr;
  const nvmlReturn_t code = call(call.api.event_set_create, &made);
  if (code != NVML_SUCCESS) return NvmlError(call.api.event_set_create.name(), code);
  std::unique_ptr<Driver::Share> its_share = driver.ShareSession("the wait for events", [] {});
  if (!its_share) {
    (void)call(call.api.event_set_free, made);
    return std::nullopt;
  }
  nvmlSystemEventSet_t made_system = MakeSystemSet(call);
  const std::scoped_lock lock(mutex);
  set = made;
  system_set = made_system;
  share = std::move(its_share);
  return std::nullopt;
}

void Events::State::Register(const std::vector<model::PciAddress>& addresses) {
  if (addresses.empty()) StartThread();
  for (const model::PciAddress& pci : addresses) {
    driver.Submit(
        KeyOf(pci), driver.LimitsFor(driver.options().attach),
        [state = shared_from_this(), pci](const Session& session, CallWatch& watch) {
          state->RegisterOne(pci, session, watch);
        },
        [state = shared_from_this(), pci](const Driver::Report&) { state->Registered(pci); });
  }
}

void Events::State::RegisterOne(const model::PciAddress& pci,
                                const Session& session,
                                CallWatch& watch) {
  const base::Result<DeviceHandle> handle = session.FindDevice(pci, watch);
  const std::optional<nvmlEventSet_t> wanted = SetToFill();
  if (!handle.ok() || !wanted) return;
  Caller call = session.CallerFor(watch);
  unsigned long long types = 0;
  if (call(call.api.supported_events, handle->value, &types) != NVML_SUCCESS) return;
  types &= WantedTypes();
  if (types == 0) return;
  if (call(call.api.register_events, handle->value, types, *wanted) != NVML_SUCCESS) return;
  const std::scoped_lock lock(mutex);
  if (!begun) gpus[handle->value] = pci;
}

void Events::State::Registered(const model::PciAddress& pci) {
  std::unique_lock lock(mutex);
  const bool registered =
      std::any_of(gpus.begin(), gpus.end(), [&](const auto& each) { return each.second == pci; });
  if (!registered) unmonitored.push_back(pci);
  if (--awaited > 0) return;
  lock.unlock();
  StartThread();
}

void Events::State::StartThread() {
  // Signals belong to the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const std::scoped_lock lock(mutex);
  begun = true;
  if (stopping) {
    End(Events::End::kReleased, std::nullopt);
    return;
  }
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([state = shared_from_this()] {
    pthread_setname_np(pthread_self(), "events");
    state->Run();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::optional<Event> Events::State::ToEvent(const nvmlEventData_t& data) const {
  const auto gpu = gpus.find(data.device);
  if (gpu == gpus.end()) return std::nullopt;
  for (const KindRow& row : kKinds) {
    if (row.bit != data.eventType) continue;
    return Event{row.kind, gpu->second, data.eventData,
                 InstanceOf<model::GpuInstanceId>(data.gpuInstanceId),
                 InstanceOf<model::ComputeInstanceId>(data.computeInstanceId)};
  }
  return std::nullopt;
}

// A moment, not zero: what zero means is told in two ways (NVIDIA's header: do not wait; the pages
// of cuda.core: wait for ever).
void Events::State::LookAtSystem() {
  if (system_set == nullptr) return;
  std::array<nvmlSystemEventData_v1_t, 8> heard{};
  nvmlSystemEventSetWaitRequest_v1_t request{
      nvmlSystemEventSetWaitRequest_v1, 1, system_set, heard.data(), heard.size(), 0};
  const nvmlReturn_t code = api().system_event_set_wait.pointer()(&request);
  if (code == NVML_ERROR_TIMEOUT) return;
  if (code == NVML_SUCCESS || code == NVML_ERROR_INSUFFICIENT_SIZE) {
    // Of who hardly waits a driver was seen to say "success" and tell of nothing.
    if (code == NVML_SUCCESS && request.numEvent == 0) return;
    if (!stopping) listener.driver_moved();
    return;
  }
  FreeSystemSet();
}

void Events::State::Run() {
  const auto& wait = api().event_set_wait;
  if (wait.pointer() == nullptr) {
    End(Events::End::kFailed, NvmlError(wait.name(), NVML_ERROR_FUNCTION_NOT_FOUND));
    return;
  }
  listener.begun(share->session().generation(), unmonitored);
  const auto timeout = static_cast<unsigned>(tick.count());
  while (!stopping && !unwanted && !share->wanted()) {
    nvmlEventData_t data{};
    const nvmlReturn_t code = wait.pointer()(set, &data, timeout);
    LookAtSystem();
    if (code == NVML_ERROR_TIMEOUT) continue;
    // Also for a lost GPU: with it in the set the driver would not let anybody wait again.
    if (code != NVML_SUCCESS) {
      End(Events::End::kFailed, NvmlError(wait.name(), code));
      return;
    }
    const std::optional<Event> event = ToEvent(data);
    if (event && !stopping) listener.event(*event);
  }
  End(Events::End::kReleased, std::nullopt);
}

}  // namespace partita::hw::nvml
