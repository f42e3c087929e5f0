// What Driver keeps, shared with its jobs: the phases of the session, who uses it, and the waits
// for it to be nobody's. Private to driver*.cc.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "hw/nvml/driver.h"

namespace partita::hw::nvml {

struct Driver::State : std::enable_shared_from_this<Driver::State> {
  using Lock = std::unique_lock<std::mutex>;
  enum class Phase : std::uint8_t { kClosed, kOpening, kOpen, kClosing };
  // A job that has the session.
  struct Use {
    std::shared_ptr<const Session> session;
    bool given_up = false;
    bool skipped = false;  // it came to run when the driver was going
    bool ended = false;
  };
  // Ends the use with the job that holds it, whether it ran or not.
  class UseEnd {
   public:
    UseEnd(std::shared_ptr<State> state, std::shared_ptr<Use> its_use)
        : use(std::move(its_use)), state_(std::move(state)) {}
    UseEnd(const UseEnd&) = delete;
    UseEnd& operator=(const UseEnd&) = delete;
    ~UseEnd() { state_->EndUse(*use); }
    const std::shared_ptr<Use> use;

   private:
    std::shared_ptr<State> state_;
  };
  struct Opening;
  struct Pending {
    std::string gpu;
    JobLimits limits;
    Job job;
    Done done;
  };

  explicit State(Options its_options) : options(std::move(its_options)) {}

  const Options options;
  mutable std::mutex mutex;
  std::condition_variable changed;
  // All guarded by `mutex`.
  Lanes* lanes = nullptr;  // null once the driver is gone
  Phase phase = Phase::kClosed;
  std::shared_ptr<Session> session;  // of kOpen
  std::uint64_t generation = 0;
  std::size_t uses = 0;
  std::size_t given_up = 0;  // of those
  std::vector<Share*> shares;
  bool draining = false;  // somebody waits for the session to be nobody's
  bool leased = false;
  bool retire = false;  // the session is to close once the calls that were given up are back
  bool stopping = false;
  std::deque<Pending> pending;  // until the session is open, or the wait for its end is over
  std::size_t gates = 0;        // threads that wait for the session to be nobody's

  void Submit(Pending job);
  void Admit(Pending job);
  void Refuse(Pending job, Report report);
  void AdmitAll();
  void Open();
  void Opened(const Lanes::Report& report, Opening& opening);
  void NoteGivenUp(Use& use);
  void EndUse(Use& use);

  [[nodiscard]] bool Nobodys() const;
  void TellShares(Lock& lock) const;
  base::Result<void> MakeNobodys(std::chrono::nanoseconds release, bool lease);
  bool Drain(Lock& lock, std::chrono::nanoseconds release);
  template <typename Condition>
  bool WaitUntil(Lock& lock, std::chrono::nanoseconds limit, Condition condition);
  base::Result<void> Close(Lock& lock);
  base::Result<void> AwaitOverdue();
  enum class Who : std::uint8_t { kAll, kOverdue };
  [[nodiscard]] std::vector<std::string> Users(Lock& lock, Who who) const;
  [[nodiscard]] base::Error BusyError(Lock& lock, Who who = Who::kAll) const;
  void StartGate(std::function<void()> body);
  void Retire();
};

}  // namespace partita::hw::nvml
