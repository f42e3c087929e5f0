// The node as it is, kept up to date: looks at the driver when somebody asks or something happened,
// and publishes a snapshot when the answer differs from the one before.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/nvml/driver.h"
#include "hw/nvml/gpu_look.h"
#include "hw/nvml/link_reader.h"
#include "hw/sysfs/pci.h"
#include "net/loop.h"
#include "service/inventory/known_gpus.h"
#include "service/inventory/snapshot.h"

namespace partita::service::inventory {

// Lives on the loop. Driver calls run on the driver's threads; a GPU whose call is late delays
// nobody: the others are published without it, and it as it was.
class Live {
 public:
  struct Options {
    std::string root = "/";  // above /proc, /sys and /dev
    // How long a look waits for all GPUs before it publishes those that answered.
    net::Duration gather = std::chrono::milliseconds(20);
    net::Duration rest = std::chrono::seconds(30);  // between two looks when nothing happens
    // How long those who want to see every GPU as it is now wait for one that is late. Half of what
    // `partita status` waits for the agent.
    net::Duration patience = std::chrono::seconds(1);
  };
  Live(net::Loop& loop,
       hw::nvml::Driver& driver,
       Options options,
       const std::vector<Remembered>& remembered = {});
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;
  ~Live();

  // The first look, and from then on one each `rest`.
  void Start();

  // Looks at these parts, and at whatever was never read. `done` is called when what answered in
  // time is in `current`. Looks that are asked for while one runs are one look after it.
  using Done = std::function<void(const SnapshotPtr&)>;
  void Look(hw::nvml::Parts parts, Done done = nullptr);

  // The same for whoever must see what is now: `done` is called when every GPU has answered a look
  // that began after this call. One that has been late for `patience` is not waited for.
  void LookPatiently(hw::nvml::Parts parts, Done done);

  // No call is made for these GPUs, since it might never come back: they are shown as they were.
  void LeaveAlone(std::set<model::PciAddress> gpus) { known_.LeaveAlone(std::move(gpus)); }
  // But the next look asks this one.
  void Probe(const model::PciAddress& pci) { probed_.insert(pci); }

  // Links are read once in a session; somebody heard that they changed.
  void LookAtLinks();

  // Never null; without any GPU before the first look.
  [[nodiscard]] const SnapshotPtr& current() const { return current_; }

  // Called on the loop after each publication, until what is returned goes, which it must do before
  // this object.
  using Subscriber = std::function<void(const SnapshotPtr&, const Changes&)>;
  [[nodiscard]] std::shared_ptr<void> Subscribe(Subscriber subscriber);

  // When a GPU last told this part, in an answer that did not break off.
  [[nodiscard]] std::optional<Time> ReadAt(const model::PciAddress& pci,
                                           hw::nvml::Part part) const {
    return known_.ReadAt(pci, part);
  }
  // When something was last heard of a GPU, be it that it is lost.
  [[nodiscard]] std::optional<Time> HeardAt(const model::PciAddress& pci) const {
    const auto heard = heard_at_.find(pci);
    return heard == heard_at_.end() ? std::nullopt : std::optional(heard->second);
  }
  // How often the driver went away under the session.
  [[nodiscard]] std::uint64_t cut_off() const { return cut_off_; }

  // Why the session could not be closed although the driver was replaced or other GPUs are there:
  // what is told comes from the old one. Nothing: it need not, or could be.
  [[nodiscard]] const std::optional<base::Error>& unclosable() const { return unclosable_; }

  // Called after each look, also where it found nothing new, before those who asked for it are
  // answered. One listener.
  void OnLooked(std::function<void(const SnapshotPtr&)> looked) { looked_ = std::move(looked); }

  // Some GPU has not answered a look yet, which went on without it.
  [[nodiscard]] bool waits() const { return !late_.empty(); }
  [[nodiscard]] bool looking() const { return looking_ || reopening_; }

  // What to keep for the next life.
  [[nodiscard]] std::vector<Remembered> ToRemember() const { return known_.ToRemember(); }

 private:
  struct DriverAnswer;
  struct LinkRound;
  struct Late {
    std::uint64_t look = 0;  // that it has not answered yet
    Time since;
  };
  struct Patient {
    Time until;
    Done done;
  };

  enum class MayReopen : bool { kNo, kYes };
  void Begin(MayReopen may_reopen = MayReopen::kYes);
  void ScanBus();
  // Some GPU is not listed by the library, and a node came that may be its.
  [[nodiscard]] bool NodeCame() const;
  void AskDriver();
  void AskGpu(const model::PciAddress& pci);
  // A GPU answers whose links were not read in this session, or not since its MIG mode changed,
  // which turns its NVLinks off.
  [[nodiscard]] bool LinksWanted() const;
  void AskLinks();
  void HeardDriver(const hw::nvml::Driver::Report& report, const DriverAnswer& answer);
  void HeardGpu(std::uint64_t look,
                const model::PciAddress& pci,
                const hw::nvml::Driver::Report& report,
                const hw::nvml::GpuAnswer& answer);
  void HeardLinks(LinkRound& round);
  void NoteSession(std::uint64_t generation);
  void NoteCutOff();
  // False: that was tried often enough.
  bool Reopen();
  void Reopened(const base::Result<void>& closed);
  void Gathered();
  void Finish();
  // Those of whom nobody is late any more, or whose time is over.
  void AnswerPatient();
  void Publish();
  void PublishLate();

  net::Loop& loop_;
  hw::nvml::Driver& nvml_;
  const Options options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  KnownGpus known_;
  std::vector<hw::sysfs::PciGpu> bus_;
  std::vector<model::Problem> problems_;  // of the bus
  std::optional<model::Driver> driver_;
  std::optional<base::Error> driver_error_;
  std::uint32_t count_ = 0;
  std::uint64_t session_ = 0;                   // that the answers came from; 0: none
  std::vector<model::PciAddress> opened_for_;   // the bus as it was then
  std::vector<model::DeviceNode> opened_with_;  // the device nodes as they were then
  std::uint64_t links_of_ = 0;                  // the session in which links were asked for…
  std::map<model::PciAddress, bool> linked_;    // …of which GPUs, and whether MIG was on
  std::map<model::PciAddress, hw::nvml::LinksOfGpu> heard_links_;
  hw::nvml::NodeLinks links_;

  std::unique_ptr<net::Timer> rest_timer_, gather_timer_, patience_timer_;
  bool looking_ = false;
  bool driver_heard_ = false;            // of the look that runs
  std::set<model::PciAddress> awaited_;  // of the look that runs
  std::set<model::PciAddress> probed_;   // by the next look, although they are left alone
  std::map<model::PciAddress, Time> heard_at_;
  // Of looks before: not asked again until they are back.
  std::map<model::PciAddress, Late> late_;
  bool publishes_late_ = false;  // what came back of these, in a moment
  hw::nvml::Parts missed_;       // by looks that left out a late one
  std::uint64_t look_ = 0;       // counts looks
  hw::nvml::Parts parts_, next_;
  std::vector<Done> dones_, next_dones_;
  std::vector<Patient> patient_;  // whose look has ended without somebody
  bool wanted_ = false;           // another look after this one
  bool reopening_ = false;
  int sessions_lost_ = 0;                                // in a row
  std::uint64_t cut_off_ = 0;                            // sessions whose driver went away
  std::uint64_t cut_off_session_ = 0;                    // the last of them
  bool reopen_wanted_ = false, reopen_refused_ = false;  // in the look that runs
  std::optional<base::Error> unclosable_;

  SnapshotPtr current_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_;
  std::function<void(const SnapshotPtr&)> looked_;
};

}  // namespace partita::service::inventory
