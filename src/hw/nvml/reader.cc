#include "hw/nvml/reader.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "hw/nvml/device_reader.h"
#include "hw/nvml/errors.h"
#include "hw/nvml/link_reader.h"
#include "hw/nvml/mig_reader.h"
#include "hw/nvml/process_reader.h"
#include "hw/nvml/session.h"
#include "hw/nvml/worker.h"

namespace partita::hw::nvml {
namespace {

// What a job has found out so far. Shared with it, since it may be left behind in a hung call.
template <typename Value>
class Draft {
 public:
  void Publish(Value value) {
    const std::scoped_lock lock(mutex_);
    value_ = std::move(value);
  }
  [[nodiscard]] Value Take() {
    const std::scoped_lock lock(mutex_);
    return std::move(value_);
  }

 private:
  std::mutex mutex_;
  Value value_{};
};

// One GPU, as far as it was read.
struct GpuDraft {
  model::Gpu gpu;
  DeviceHandle handle;
  bool identified = false;
  bool session_lost = false;
  std::vector<base::Error> problems;
};

struct OpenDraft {
  std::shared_ptr<Session> session;
  std::optional<model::Driver> driver;
  std::optional<base::Error> error;
};

std::string Seconds(std::chrono::nanoseconds limit) {
  return fmt::format("{:g} s", std::chrono::duration<double>(limit).count());
}

model::Fault HungFault(const Worker::Report& report) {
  std::string what;
  switch (report.outcome) {
    case Worker::Outcome::kDone:
    case Worker::Outcome::kHung:
      what = report.function.empty() ? "the driver was too slow"
                                     : fmt::format("{} did not come back within {}",
                                                   report.function, Seconds(report.limit));
      break;
    case Worker::Outcome::kQuarantined: what = "a driver call has not come back"; break;
    case Worker::Outcome::kStuck: what = "the driver does not come back from any call"; break;
  }
  return {model::FaultKind::kHung,
          what + ": see the kernel log, then reset the GPU or reboot the node"};
}

std::string NameOf(const model::Gpu& gpu) {
  return gpu.index ? fmt::format("{}", *gpu.index) : gpu.pci.ToString();
}

void Keep(const DeviceCalls& calls, GpuDraft& draft) {
  draft.gpu.faults = calls.faults();
  draft.problems = calls.problems();
  draft.session_lost = calls.session_lost();
}

// How much of a GPU is read.
struct Depth {
  bool readings = true;
  std::optional<OnlyMig> only_mig;
};

// The job for one GPU. Publishes after each part, so that a hang costs only what follows it.
void ReadGpu(const Session& session,
             const DeviceHandle& handle,
             const Depth& depth,
             CallWatch& watch,
             GpuDraft draft,
             Draft<GpuDraft>& result) {
  const base::Result<nvmlDevice_t> device = session.Use(handle);
  if (!device.ok()) return;
  Caller call = session.CallerFor(watch);
  DeviceCalls calls(call, *device, NameOf(draft.gpu));
  const auto publish = [&] {
    Keep(calls, draft);
    result.Publish(draft);
  };
  draft.handle = handle;
  draft.identified = ReadIdentity(calls, draft.gpu);
  if (!draft.identified && !calls.problems().empty()) {
    calls.AddFault(FaultOf(calls.problems().front(), calls.name()));
  }
  publish();
  if (depth.only_mig) {
    ReadMigBoard(calls, draft.gpu);
  } else {
    ReadBoard(calls, draft.gpu);
  }
  publish();
  ReadMig(calls, draft.gpu, depth.only_mig);
  publish();
  ReadProcesses(calls, draft.gpu);
  if (depth.readings) ReadReadings(calls, draft.gpu.readings);
  publish();
}

}  // namespace

class Reader::Impl {
 public:
  Impl(LibrarySearch search, Limits limits) : search_(std::move(search)), limits_(limits) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { Release(); }

  Facts Read(const Question& question) {
    ReopenIfChanged(question);
    Facts facts = ReadOnce(question);
    if (session_lost_) {
      // The driver was reloaded under us: the second look is through a new session.
      Release();
      facts = ReadOnce(question);
      if (session_lost_) MarkUnreadable(facts);
    }
    return facts;
  }

  void Release() {
    if (!session_) return;
    std::shared_ptr<Session> session = std::move(session_);
    session_.reset();
    session_lost_ = false;
    // Where a call hangs, the shutdown would too; then the session stays open until the end.
    if (worker_.abandoned() > 0) return;
    worker_.Run("", JobLimits(),
                [session = std::move(session)](CallWatch& watch) { session->Close(watch); });
  }

 private:
  [[nodiscard]] Worker::Limits JobLimits() const {
    // However quick its calls, a job that lasts so long is of no use to anybody.
    return {.call = limits_.call, .job = limits_.attach + 10 * limits_.call};
  }

  // NVML knows the GPUs that the driver had when it was initialised, and no others.
  void ReopenIfChanged(const Question& question) {
    if (session_ && question.gpus != opened_for_ && worker_.abandoned() == 0) Release();
    opened_for_ = question.gpus;
  }

  Facts ReadOnce(const Question& question) {
    Facts facts;
    session_lost_ = false;
    facts.driver_error = Open();
    if (facts.driver_error) {
      if (worker_.abandoned() > 0) MarkAllHung(question, facts);
      return facts;
    }
    facts.driver = driver_;
    std::vector<GpuDraft> drafts;
    if (!Count(facts)) {
      MarkAllHung(question, facts);
      return facts;
    }
    for (const model::PciAddress& pci : question.gpus) {
      drafts.push_back(ReadByAddress(pci, DepthFor(question, pci)));
      if (question.only_mig) KeepProfiles(drafts.back().gpu);
    }
    // Otherwise every GPU that NVML counts is one of those on the bus.
    if (facts.count > question.gpus.size()) ReadOthers(facts.count, DepthFor(question, {}), drafts);
    if (!question.only_mig) ReadAllLinks(drafts, facts);
    for (GpuDraft& draft : drafts) {
      session_lost_ = session_lost_ || draft.session_lost;
      for (base::Error& error : draft.problems) {
        facts.problems.push_back({NameOf(draft.gpu), std::move(error)});
      }
      facts.gpus.push_back(std::move(draft.gpu));
    }
    return facts;
  }

  // Loads the library and initialises it, unless that is done already.
  std::optional<base::Error> Open() {
    if (session_) return std::nullopt;
    const auto draft = std::make_shared<Draft<OpenDraft>>();
    const Worker::Report report = worker_.Run(
        "", JobLimits(),
        [draft, search = search_, generation = ++generation_, limit = limits_.attach](
            CallWatch& watch) { draft->Publish(OpenOnce(search, generation, limit, watch)); });
    if (report.outcome != Worker::Outcome::kDone) {
      return base::MakeError(base::ErrorCode::kTimeout, "{}", HungFault(report).text);
    }
    OpenDraft opened = draft->Take();
    session_ = std::move(opened.session);
    if (driver_ != opened.driver) profiles_.clear();
    driver_ = std::move(opened.driver);
    return std::move(opened.error);
  }

  static OpenDraft OpenOnce(const LibrarySearch& search,
                            std::uint64_t generation,
                            std::chrono::nanoseconds limit,
                            CallWatch& watch) {
    OpenDraft opened;
    base::Result<std::shared_ptr<const Library>> library = Library::Open(search);
    if (!library.ok()) {
      opened.error = library.error();
      return opened;
    }
    base::Result<std::shared_ptr<Session>> session =
        Session::Open(*std::move(library), generation, limit, watch);
    if (!session.ok()) {
      opened.error = session.error();
      return opened;
    }
    base::Result<model::Driver> driver = (*session)->ReadDriver(watch);
    if (!driver.ok()) {
      (*session)->Close(watch);
      opened.error = driver.error();
      return opened;
    }
    opened.session = *std::move(session);
    opened.driver = *std::move(driver);
    return opened;
  }

  // False: the driver hangs in a call that names no GPU.
  bool Count(Facts& facts) {
    const auto draft = std::make_shared<Draft<std::optional<base::Result<std::uint32_t>>>>();
    const Worker::Report report =
        worker_.Run("", JobLimits(), [draft, session = session_](CallWatch& watch) {
          draft->Publish(session->CountDevices(watch));
        });
    if (report.outcome != Worker::Outcome::kDone) return false;
    const std::optional<base::Result<std::uint32_t>> count = draft->Take();
    if (count->ok()) {
      facts.count = **count;
    } else {
      // A library that cannot even count is not talking to the driver any more.
      session_lost_ = true;
      facts.problems.push_back({"", count->error()});
    }
    return true;
  }

  using Profiles = std::vector<model::GpuInstanceProfile>;

  [[nodiscard]] Depth DepthFor(const Question& question, const model::PciAddress& pci) const {
    Depth depth{question.readings, std::nullopt};
    if (!question.only_mig) return depth;
    const auto known = profiles_.find(pci);
    depth.only_mig = OnlyMig{known == profiles_.end() ? Profiles() : known->second};
    return depth;
  }

  void KeepProfiles(const model::Gpu& gpu) {
    if (gpu.mig && !gpu.mig_error) profiles_[gpu.pci] = gpu.mig->profiles;
  }

  GpuDraft ReadByAddress(const model::PciAddress& pci, const Depth& depth) {
    GpuDraft first;
    first.gpu.pci = pci;
    return RunGpuJob(pci.ToString(), first,
                     [=, session = session_](CallWatch& watch, Draft<GpuDraft>& result) {
                       base::Result<DeviceHandle> handle = session->FindDevice(pci, watch);
                       if (handle.ok()) {
                         ReadGpu(*session, *handle, depth, watch, first, result);
                       } else {
                         result.Publish(NotFound(first, handle.error()));
                       }
                     });
  }

  static GpuDraft NotFound(GpuDraft draft, const base::Error& error) {
    const int code = error.native() ? error.native()->value : NVML_ERROR_UNKNOWN;
    draft.session_lost = MeansSessionLost(code);
    if (code == NVML_ERROR_NOT_FOUND) {
      draft.gpu.faults.push_back(
          {model::FaultKind::kMissing,
           "on the PCI bus with the driver bound, but its library does not list "
           "it: check that this process may open its device node, and see "
           "the kernel log"});
    } else if (!draft.session_lost) {
      draft.gpu.faults.push_back(FaultOf(error, NameOf(draft.gpu)));
    }
    return draft;
  }

  // GPUs that the scan of the bus did not name: a container without /sys, or parts that are not on
  // PCI at all.
  void ReadOthers(std::uint32_t count, const Depth& depth, std::vector<GpuDraft>& drafts) {
    std::vector<nvmlDevice_t> known;
    known.reserve(drafts.size());
    for (const GpuDraft& draft : drafts) known.push_back(draft.handle.value);
    for (std::uint32_t i = 0; i < count; ++i) {
      const model::GpuIndex index(i);
      GpuDraft first;
      first.gpu.index = index;
      GpuDraft draft = RunGpuJob(
          fmt::format("index {}", i), first,
          [=, session = session_](CallWatch& watch, Draft<GpuDraft>& result) {
            base::Result<DeviceHandle> handle = session->FindDevice(index, watch);
            if (!handle.ok()) {
              result.Publish(NotFound(first, handle.error()));
            } else if (std::find(known.begin(), known.end(), handle->value) == known.end()) {
              ReadGpu(*session, *handle, depth, watch, first, result);
            } else {
              GpuDraft duplicate;
              duplicate.handle = *handle;
              result.Publish(duplicate);
            }
          });
      const bool duplicate =
          std::find(known.begin(), known.end(), draft.handle.value) != known.end() &&
          draft.handle.value != nullptr;
      // One that cannot be looked up is most likely one of those on the bus with the same fault.
      const bool unplaced = draft.handle.value == nullptr && !drafts.empty();
      if (!duplicate && !unplaced) drafts.push_back(std::move(draft));
    }
  }

  // Runs the job and turns a hang into a fault of its GPU.
  template <typename Job>
  GpuDraft RunGpuJob(const std::string& key, const GpuDraft& first, Job job) {
    const auto draft = std::make_shared<Draft<GpuDraft>>();
    draft->Publish(first);
    const Worker::Report report = worker_.Run(
        key, JobLimits(), [draft, job = std::move(job)](CallWatch& watch) { job(watch, *draft); });
    GpuDraft result = draft->Take();
    if (report.outcome == Worker::Outcome::kDone) return result;
    result.gpu.faults.push_back(HungFault(report));
    const base::Error hung(base::ErrorCode::kTimeout, result.gpu.faults.back().text);
    if (!result.gpu.mig && !result.gpu.mig_error) result.gpu.mig_error = hung;
    if (!result.gpu.processes_error) result.gpu.processes_error = hung;
    result.identified = false;
    if (report.outcome == Worker::Outcome::kHung) ProbeLibrary();
    return result;
  }

  // After a hang: does the library still answer at all? If not, the worker knows from now on, and
  // the other GPUs need not be waited for one by one.
  void ProbeLibrary() {
    worker_.Run("", JobLimits(),
                [session = session_](CallWatch& watch) { (void)session->CountDevices(watch); });
  }

  static void MarkUnreadable(Facts& facts) {
    for (model::Gpu& gpu : facts.gpus) {
      if (gpu.uuid || !gpu.faults.empty()) continue;
      gpu.faults.push_back({model::FaultKind::kUnreadable,
                            "the driver went away while it was read: try again, or see the "
                            "kernel log"});
    }
  }

  static void MarkAllHung(const Question& question, Facts& facts) {
    for (const model::PciAddress& pci : question.gpus) {
      model::Gpu gpu;
      gpu.pci = pci;
      gpu.faults.push_back(HungFault({Worker::Outcome::kStuck, ""}));
      facts.gpus.push_back(std::move(gpu));
    }
  }

  void ReadAllLinks(std::vector<GpuDraft>& drafts, Facts& facts) {
    std::vector<Peer> peers;
    for (const GpuDraft& draft : drafts) {
      const bool lost = std::any_of(
          draft.gpu.faults.begin(), draft.gpu.faults.end(),
          [](const model::Fault& fault) { return fault.kind == model::FaultKind::kLost; });
      if (draft.identified && !lost) peers.push_back({draft.gpu.pci, draft.handle.value});
    }
    std::vector<LinksOfGpu> all;
    for (const Peer& peer : peers) {
      const auto draft = std::find_if(drafts.begin(), drafts.end(), [&](const GpuDraft& each) {
        return each.handle.value == peer.device;
      });
      all.push_back(ReadLinksOf(*draft, peers));
    }
    NodeLinks node = Combine(all);
    facts.links = std::move(node.links);
    facts.switch_links = std::move(node.switch_links);
  }

  LinksOfGpu ReadLinksOf(GpuDraft& gpu, const std::vector<Peer>& peers) {
    struct LinkDraft {
      LinksOfGpu links;
      std::vector<base::Error> problems;
    };
    const auto draft = std::make_shared<Draft<LinkDraft>>();
    const Worker::Report report =
        worker_.Run(gpu.gpu.pci.ToString(), JobLimits(),
                    [=, session = session_, handle = gpu.handle, pci = gpu.gpu.pci,
                     name = NameOf(gpu.gpu)](CallWatch& watch) {
                      const base::Result<nvmlDevice_t> device = session->Use(handle);
                      if (!device.ok()) return;
                      Caller call = session->CallerFor(watch);
                      DeviceCalls calls(call, *device, name);
                      LinksOfGpu links = ReadLinks(calls, pci, peers);
                      draft->Publish({std::move(links), calls.problems()});
                    });
    LinkDraft result = draft->Take();
    result.links.gpu = gpu.gpu.pci;
    gpu.problems.insert(gpu.problems.end(), result.problems.begin(), result.problems.end());
    if (report.outcome != Worker::Outcome::kDone) {
      gpu.gpu.faults.push_back(HungFault(report));
      if (report.outcome == Worker::Outcome::kHung) ProbeLibrary();
    }
    return result.links;
  }

  const LibrarySearch search_;
  const Limits limits_;
  Worker worker_;
  std::shared_ptr<Session> session_;
  std::optional<model::Driver> driver_;
  std::vector<model::PciAddress> opened_for_;
  std::map<model::PciAddress, Profiles> profiles_;  // of questions about MIG alone
  std::uint64_t generation_ = 0;
  bool session_lost_ = false;
};

Reader::Reader(LibrarySearch search, Limits limits)
    : impl_(std::make_unique<Impl>(std::move(search), limits)) {}
Reader::~Reader() = default;

Facts Reader::Read(const Question& question) { return impl_->Read(question); }

void Reader::Release() { impl_->Release(); }

}  // namespace partita::hw::nvml
