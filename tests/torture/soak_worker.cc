#include "soak_worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

#include "nvml_library.h"

namespace partita::torture {
namespace {

using base::Result;

// Marks a change as under way for the time of one call.
class Open {
 public:
  explicit Open(Counted* counted) : counted_(counted) { counted_->open = 1; }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  ~Open() { counted_->open = 0; }

 private:
  Counted* counted_;
};

class Worker {
 public:
  Worker(const WorkerOptions& options, const Nvml& nvml, Ledger* ledger)
      : options_(options),
        nvml_(nvml),
        ledger_(*ledger),
        record_(ledger->workers[options.index]),
        random_(options.seed) {}

  Result<void> Start();
  Result<void> Act();
  void Stop();

 private:
  unsigned Below(std::size_t limit) {
    return static_cast<unsigned>(random_() % std::max<std::size_t>(limit, 1));
  }
  Handle AnyGpu() { return gpus_[Below(gpus_.size())]; }
  // Makes one change and counts it; codes in `proper` are refusals, others an error.
  template <typename Call>
  Result<int> Perform(const char* name,
                      Change change,
                      std::initializer_list<int> proper,
                      Call call);
  Result<void> Create();
  Result<void> Destroy();
  Result<void> Read();
  Result<void> Wait();
  Result<void> Hold();
  Result<void> Guard(const std::string& device);
  void LetGo();

  const WorkerOptions& options_;
  const Nvml& nvml_;
  Ledger& ledger_;
  WorkerRecord& record_;
  std::mt19937_64 random_;
  std::vector<Handle> gpus_;
  pid_t workload_ = -1;
};

template <typename Call>
Result<int> Worker::Perform(const char* name,
                            Change change,
                            std::initializer_list<int> proper,
                            Call call) {
  Counted& counted = record_.changes[change];
  const Open open(&counted);
  const int code = call();
  if (code == kSuccess) {
    ++counted.done;
  } else if (std::find(proper.begin(), proper.end(), code) != proper.end()) {
    ++record_.refused;
  } else {
    return CallFailed(name, code);
  }
  return code;
}

Result<void> Worker::Start() {
  if (const int code = nvml_.Init(); code != kSuccess) return CallFailed("Init_v2", code);
  unsigned count = 0;
  if (const int code = nvml_.GetCount(&count); code != kSuccess) {
    return CallFailed("DeviceGetCount_v2", code);
  }
  for (unsigned index = 0; index < count; ++index) {
    Handle gpu = nullptr;
    if (const int code = nvml_.GetHandleByIndex(index, &gpu); code != kSuccess) {
      return CallFailed("DeviceGetHandleByIndex_v2", code);
    }
    gpus_.push_back(gpu);
  }
  return {};
}

Result<void> Worker::Create() {
  Handle gpu = AnyGpu();
  TRY(profiles, ReadProfileIds(nvml_, gpu));
  const unsigned profile = profiles[Below(profiles.size())];
  Placement placements[32];
  unsigned count = std::size(placements);
  if (const int code = nvml_.GetPossiblePlacements(gpu, profile, placements, &count);
      code != kSuccess) {
    return CallFailed("DeviceGetGpuInstancePossiblePlacements_v2", code);
  }
  const bool placed = Below(2) == 0;
  const Placement& placement = placements[Below(count)];
  Handle instance = nullptr;
  TRY(created,
      Perform("DeviceCreateGpuInstance", kCreateGpuInstance, {kInsufficientResources}, [&] {
        return placed ? nvml_.CreateGpuInstanceAt(gpu, profile, &placement, &instance)
                      : nvml_.CreateGpuInstance(gpu, profile, &instance);
      }));
  if (created != kSuccess || Below(8) == 0) return {};
  // Somebody may have destroyed it already: INVALID_ARGUMENT, or by now it is another instance at
  // the same place, which may be full.
  for (unsigned wanted = 1 + Below(2); wanted > 0; --wanted) {
    Handle compute = nullptr;
    TRY(code, Perform("GpuInstanceCreateComputeInstance", kCreateComputeInstance,
                      {kInvalidArgument, kInsufficientResources},
                      [&] { return nvml_.CreateComputeInstance(instance, 0, &compute); }));
    if (code != kSuccess) break;
  }
  return {};
}

Result<void> Worker::Destroy() {
  TRY(slices, ReadSlices(nvml_, AnyGpu()));
  if (slices.empty()) return {};
  const Slice& slice = slices[Below(slices.size())];
  for (const ComputeSlice& compute : slice.compute) {
    auto destroyed =
        Perform("ComputeInstanceDestroy", kDestroyComputeInstance, {kInvalidArgument, kInUse},
                [&] { return nvml_.DestroyComputeInstance(compute.handle); });
    if (!destroyed.ok()) return std::move(destroyed).error();
  }
  auto destroyed = Perform("GpuInstanceDestroy", kDestroyGpuInstance, {kInvalidArgument, kInUse},
                           [&] { return nvml_.DestroyGpuInstance(slice.handle); });
  if (!destroyed.ok()) return std::move(destroyed).error();
  return {};
}

Result<void> Worker::Read() {
  TRY(text, DescribeNode(nvml_));
  TRY(uuids, ReadMigUuids(nvml_));
  for (const auto& [device, uuid] : uuids) {
    const auto& [gpu, instance, compute] = device;
    ledger_.Remember(gpu, instance, compute, uuid);
  }
  ++record_.reads;
  return {};
}

Result<void> Worker::Wait() {
  Handle set = nullptr;
  if (const int code = nvml_.CreateEventSet(&set); code != kSuccess) {
    return CallFailed("EventSetCreate", code);
  }
  for (Handle gpu : gpus_) {
    if (const int code = nvml_.RegisterEvents(gpu, kMigChangeEvent, set); code != kSuccess) {
      return CallFailed("DeviceRegisterEvents", code);
    }
  }
  for (int i = 0; i < 4; ++i) {
    EventView event{};
    const int code = nvml_.WaitForEvent(set, &event, 20);
    ++record_.waits;
    if (code == kTimeout) break;
    if (code != kSuccess) return CallFailed("EventSetWait_v2", code);
    if (event.type != kMigChangeEvent ||
        std::find(gpus_.begin(), gpus_.end(), event.device) == gpus_.end()) {
      return base::MakeError(base::ErrorCode::kInternal, "event of type {:#x} on no GPU asked for",
                             event.type);
    }
    ++record_.events;
  }
  const int code = nvml_.FreeEventSet(set);
  if (code != kSuccess) return CallFailed("EventSetFree", code);
  return {};
}

// In a fork: nothing that the tool prints matters (its slice may be gone before it starts), and
// nothing outlives the worker.
void BecomeHelper(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent && getppid() != 0) _exit(0);
  const int quiet = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(quiet, fd);
}

// A workload on any MIG device: one half holds its slice by itself, the other through a guardian.
Result<void> Worker::Hold() {
  if (workload_ > 0) {
    LetGo();
    return {};
  }
  TRY(uuids, ReadMigUuids(nvml_));
  if (uuids.empty()) return {};
  auto chosen = uuids.begin();
  std::advance(chosen, Below(uuids.size()));
  const std::string& device = chosen->second;
  const bool guarded = Below(2) == 0;
  const pid_t parent = getpid();
  workload_ = fork();
  if (workload_ < 0) return base::ErrnoError("fork");
  if (workload_ == 0) {
    BecomeHelper(parent);
    if (!guarded) {
      execl(options_.tool.c_str(), "partita-sim", "workload", "start", "--node",
            options_.node.c_str(), "--mig", device.c_str(), "--memory", "64MiB", "--util", "30",
            "--", "/bin/sleep", "infinity", nullptr);
      _exit(127);
    }
    for (;;) pause();
  }
  ++record_.holds;
  if (guarded) return Guard(device);
  return {};
}

Result<void> Worker::Guard(const std::string& device) {
  const pid_t parent = getpid();
  const pid_t tool = fork();
  if (tool < 0) return base::ErrnoError("fork");
  if (tool == 0) {
    BecomeHelper(parent);
    execl(options_.tool.c_str(), "partita-sim", "workload", "start", "--node",
          options_.node.c_str(), "--mig", device.c_str(), "--memory", "64MiB", "--pid",
          std::to_string(workload_).c_str(), nullptr);
    _exit(127);
  }
  waitpid(tool, nullptr, 0);
  return {};
}

void Worker::LetGo() {
  if (workload_ <= 0) return;
  kill(workload_, SIGKILL);
  waitpid(workload_, nullptr, 0);
  workload_ = -1;
}

void Worker::Stop() { LetGo(); }

Result<void> Worker::Act() {
  const unsigned dice = Below(100);
  if (dice < 40) return Create();
  if (dice < 72) return Destroy();
  if (dice < 90) return Read();
  if (dice < 94) return Wait();
  return Hold();
}

}  // namespace

int RunWorker(const WorkerOptions& options, Ledger* ledger) {
  auto nvml = LoadNvml(options.library);
  if (!nvml.ok()) {
    ledger->Complain(nvml.error().ToString());
    return 1;
  }
  Worker worker(options, *nvml, ledger);
  Result<void> result = worker.Start();
  while (result.ok() && ledger->stop == 0) result = worker.Act();
  worker.Stop();
  if (result.ok()) return 0;
  ledger->Complain(fmt::format("worker {}: {}", options.index, result.error().ToString()));
  return 1;
}

}  // namespace partita::torture
