#include "hw/nvml/reader.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "hw/nvml/device_reader.h"
#include "hw/nvml/errors.h"
#include "hw/nvml/job_fault.h"
#include "hw/nvml/link_reader.h"
#include "hw/nvml/mig_reader.h"
#include "hw/nvml/process_reader.h"

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

// What the driver says of itself.
struct HeadDraft {
  std::optional<model::Driver> driver;
  std::uint64_t generation = 0;
  std::optional<base::Result<std::uint32_t>> count;
};

// Of a driver that does not answer, with what to do about it in the words: callers show no hint.
base::Error ErrorOf(const Driver::Report& report) {
  if (!report.error) return base::Error(base::ErrorCode::kUnavailable, FaultFrom(report).text);
  if (report.error->code() != base::ErrorCode::kTimeout) return *report.error;
  return base::MakeError(base::ErrorCode::kTimeout, "{}: {}", report.error->ToString(),
                         report.error->hint());
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
  explicit Impl(std::shared_ptr<Driver> driver) : source_(std::move(driver)) {}

  Facts Read(const Question& question) {
    ReopenIfChanged(question);
    Facts facts = ReadOnce(question);
    if (session_lost_) {
      // The driver was reloaded under us: the second look is through a new session. One that cannot
      // be closed now gives no better second look, and says so.
      (void)source_->Reopen(generation_);
      facts = ReadOnce(question);
      if (session_lost_) MarkUnreadable(facts);
    }
    return facts;
  }

 private:
  // A job about one GPU.
  struct Errand {
    std::string key;
    GpuDraft first;
    std::function<void(const Session&, CallWatch&, Draft<GpuDraft>&)> job;
  };

  // NVML knows the GPUs that the driver had when it was initialised, and no others.
  void ReopenIfChanged(const Question& question) {
    // Where a call keeps the session open it closes later, and a later look sees the change.
    if (generation_ != 0 && question.gpus != opened_for_) (void)source_->Reopen(generation_);
    opened_for_ = question.gpus;
  }

  Facts ReadOnce(const Question& question) {
    Facts facts;
    session_lost_ = false;
    if (!ReadHead(question, facts)) return facts;
    std::vector<GpuDraft> drafts = ReadOnBus(question);
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

  // False: no GPU can be read.
  bool ReadHead(const Question& question, Facts& facts) {
    const auto draft = std::make_shared<Draft<HeadDraft>>();
    const Driver::Report report =
        source_->Run("", source_->LimitsFor(), [draft](const Session& session, CallWatch& watch) {
          HeadDraft head{session.driver(), session.generation(), std::nullopt};
          draft->Publish(head);
          head.count = session.CountDevices(watch);
          draft->Publish(std::move(head));
        });
    HeadDraft head = draft->Take();
    if (head.driver) {
      if (driver_ != head.driver) profiles_.clear();
      if (generation_ != head.generation) addresses_.clear();
      driver_ = head.driver;
      generation_ = head.generation;
    }
    const bool hangs = report.outcome == Outcome::kHung || report.outcome == Outcome::kStuck;
    if (!report.Done() && !(hangs && driver_)) {
      driver_.reset();
      profiles_.clear();
      facts.driver_error = ErrorOf(report);
      if (facts.driver_error->code() == base::ErrorCode::kTimeout) MarkAllHung(question, facts);
      return false;
    }
    facts.driver = driver_;
    if (hangs) {
      MarkAllHung(question, facts);
      return false;
    }
    if (head.count->ok()) {
      facts.count = **head.count;
    } else {
      // A library that cannot even count is not talking to the driver any more.
      session_lost_ = true;
      facts.problems.push_back({"", head.count->error()});
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

  std::vector<GpuDraft> ReadOnBus(const Question& question) {
    std::vector<Errand> errands;
    for (const model::PciAddress& pci : question.gpus) {
      GpuDraft first;
      first.gpu.pci = pci;
      errands.push_back({KeyOf(pci), first,
                         [pci, first, depth = DepthFor(question, pci)](
                             const Session& session, CallWatch& watch, Draft<GpuDraft>& result) {
                           base::Result<DeviceHandle> handle = session.FindDevice(pci, watch);
                           if (handle.ok()) {
                             ReadGpu(session, *handle, depth, watch, first, result);
                           } else {
                             result.Publish(NotFound(first, handle.error()));
                           }
                         }});
    }
    std::vector<GpuDraft> drafts = RunAll(errands);
    if (question.only_mig) {
      for (const GpuDraft& draft : drafts) KeepProfiles(draft.gpu);
    }
    return drafts;
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
    std::vector<Errand> errands;
    for (std::uint32_t i = 0; i < count; ++i) {
      const model::GpuIndex index(i);
      GpuDraft first;
      first.gpu.index = index;
      errands.push_back({KeyOfIndex(index), first,
                         [=](const Session& session, CallWatch& watch, Draft<GpuDraft>& result) {
                           base::Result<DeviceHandle> handle = session.FindDevice(index, watch);
                           if (!handle.ok()) {
                             result.Publish(NotFound(first, handle.error()));
                           } else if (std::find(known.begin(), known.end(), handle->value) ==
                                      known.end()) {
                             ReadGpu(session, *handle, depth, watch, first, result);
                           } else {
                             GpuDraft duplicate;
                             duplicate.handle = *handle;
                             result.Publish(duplicate);
                           }
                         }});
    }
    for (GpuDraft& draft : RunAll(errands)) {
      const bool duplicate =
          std::find(known.begin(), known.end(), draft.handle.value) != known.end() &&
          draft.handle.value != nullptr;
      // One that cannot be looked up is most likely one of those on the bus with the same fault.
      const bool unplaced = draft.handle.value == nullptr && !drafts.empty();
      if (duplicate || unplaced) continue;
      // Only of one that was read to its end: one that hangs must keep the key of its quarantine.
      if (draft.identified && draft.gpu.index) addresses_[*draft.gpu.index] = draft.gpu.pci;
      drafts.push_back(std::move(draft));
    }
  }

  // One key for each GPU, whichever way it is asked for.
  [[nodiscard]] std::string KeyOfIndex(model::GpuIndex index) const {
    const auto known = addresses_.find(index);
    return known == addresses_.end() ? fmt::format("index {}", index) : KeyOf(known->second);
  }

  // All at once, so that a slow GPU delays no other, and turns a hang into a fault of its GPU.
  std::vector<GpuDraft> RunAll(const std::vector<Errand>& errands) {
    std::vector<std::shared_ptr<Draft<GpuDraft>>> drafts;
    std::vector<std::pair<std::string, Driver::Job>> jobs;
    for (const Errand& errand : errands) {
      drafts.push_back(std::make_shared<Draft<GpuDraft>>());
      drafts.back()->Publish(errand.first);
      jobs.emplace_back(errand.key, [draft = drafts.back(), job = errand.job](
                                        const Session& session, CallWatch& watch) {
        job(session, watch, *draft);
      });
    }
    const std::vector<Driver::Report> reports = Await(std::move(jobs));
    std::vector<GpuDraft> results;
    for (std::size_t i = 0; i < errands.size(); ++i) {
      results.push_back(drafts[i]->Take());
      if (!reports[i].Done()) NoteFault(reports[i], results.back());
    }
    return results;
  }

  static void NoteFault(const Driver::Report& report, GpuDraft& draft) {
    draft.gpu.faults.push_back(FaultFrom(report));
    const base::Error why(base::ErrorCode::kTimeout, draft.gpu.faults.back().text);
    if (!draft.gpu.mig && !draft.gpu.mig_error) draft.gpu.mig_error = why;
    if (!draft.gpu.processes_error) draft.gpu.processes_error = why;
    draft.identified = false;
  }

  // Submits all and waits for all.
  std::vector<Driver::Report> Await(std::vector<std::pair<std::string, Driver::Job>> jobs) {
    struct Answers {
      std::mutex mutex;
      std::condition_variable come;
      std::size_t missing = 0;
      std::vector<Driver::Report> reports;
    };
    const auto answers = std::make_shared<Answers>();
    answers->missing = jobs.size();
    answers->reports.resize(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      source_->Submit(jobs[i].first, source_->LimitsFor(), std::move(jobs[i].second),
                      [answers, i](const Driver::Report& report) {
                        const std::scoped_lock lock(answers->mutex);
                        answers->reports[i] = report;
                        if (--answers->missing == 0) answers->come.notify_all();
                      });
    }
    std::unique_lock lock(answers->mutex);
    answers->come.wait(lock, [&] { return answers->missing == 0; });
    const auto hung = [](const Driver::Report& each) { return each.outcome == Outcome::kHung; };
    if (std::any_of(answers->reports.begin(), answers->reports.end(), hung)) ProbeLibrary();
    return std::move(answers->reports);
  }

  // After a hang: does the library still answer at all? If not, the driver's owner knows from now
  // on, and no other call is waited for.
  void ProbeLibrary() {
    (void)source_->Run("", source_->LimitsFor(), [](const Session& session, CallWatch& watch) {
      (void)session.CountDevices(watch);
    });
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
      gpu.faults.push_back(FaultFrom(
          {.outcome = Outcome::kStuck, .function = "", .limit = {}, .error = std::nullopt}));
      facts.gpus.push_back(std::move(gpu));
    }
  }

  void ReadAllLinks(std::vector<GpuDraft>& drafts, Facts& facts) {
    std::vector<Peer> peers;
    std::vector<GpuDraft*> readable;
    for (GpuDraft& draft : drafts) {
      const bool lost = std::any_of(
          draft.gpu.faults.begin(), draft.gpu.faults.end(),
          [](const model::Fault& fault) { return fault.kind == model::FaultKind::kLost; });
      // Handles of two sessions cannot be compared.
      if (!draft.identified || lost || draft.handle.generation != generation_) continue;
      peers.push_back({draft.gpu.pci, draft.handle.value});
      readable.push_back(&draft);
    }
    NodeLinks node = Combine(ReadLinksOf(readable, peers));
    facts.links = std::move(node.links);
    facts.switch_links = std::move(node.switch_links);
  }

  std::vector<LinksOfGpu> ReadLinksOf(const std::vector<GpuDraft*>& gpus,
                                      const std::vector<Peer>& peers) {
    struct LinkDraft {
      LinksOfGpu links;
      std::vector<base::Error> problems;
    };
    std::vector<std::shared_ptr<Draft<LinkDraft>>> drafts;
    std::vector<std::pair<std::string, Driver::Job>> jobs;
    for (const GpuDraft* gpu : gpus) {
      drafts.push_back(std::make_shared<Draft<LinkDraft>>());
      jobs.emplace_back(KeyOf(gpu->gpu.pci),
                        [peers, draft = drafts.back(), handle = gpu->handle, pci = gpu->gpu.pci,
                         name = NameOf(gpu->gpu)](const Session& session, CallWatch& watch) {
                          const base::Result<nvmlDevice_t> device = session.Use(handle);
                          if (!device.ok()) return;
                          Caller call = session.CallerFor(watch);
                          DeviceCalls calls(call, *device, name);
                          LinksOfGpu links = ReadLinks(calls, pci, peers);
                          draft->Publish({std::move(links), calls.problems()});
                        });
    }
    const std::vector<Driver::Report> reports = Await(std::move(jobs));
    std::vector<LinksOfGpu> all;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      LinkDraft result = drafts[i]->Take();
      result.links.gpu = gpus[i]->gpu.pci;
      gpus[i]->problems.insert(gpus[i]->problems.end(), result.problems.begin(),
                               result.problems.end());
      if (!reports[i].Done()) gpus[i]->gpu.faults.push_back(FaultFrom(reports[i]));
      all.push_back(std::move(result.links));
    }
    return all;
  }

  const std::shared_ptr<Driver> source_;
  std::optional<model::Driver> driver_;  // as the last session that answered had it
  std::uint64_t generation_ = 0;         // of that session
  std::vector<model::PciAddress> opened_for_;
  std::map<model::PciAddress, Profiles> profiles_;          // of questions about MIG alone
  std::map<model::GpuIndex, model::PciAddress> addresses_;  // of GPUs that the bus did not name
  bool session_lost_ = false;
};

Reader::Reader(std::shared_ptr<Driver> driver) : impl_(std::make_unique<Impl>(std::move(driver))) {}
Reader::~Reader() = default;

Facts Reader::Read(const Question& question) { return impl_->Read(question); }

}  // namespace partita::hw::nvml
