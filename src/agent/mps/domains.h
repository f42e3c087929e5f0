// The MPS domains of this node: what is wanted is brought about, what is the same is left alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/mps/compute_modes.h"
#include "agent/mps/domain_life.h"
#include "base/log.h"
#include "net/loop.h"
#include "service/mps/reconcile.h"

namespace partita::agent::mps {

// Loop's thread only. Loop and log outlive it. Destroyed, it leaves every daemon running.
class Domains {
 public:
  // `changed`: conditions(), kept(), waiting() or mode_problems() has another answer. `holders` is
  // asked whenever something would be ended.
  Domains(net::Loop& loop,
          base::Log& log,
          Machine machine,
          ComputeModes modes,
          std::function<void()> changed,
          std::function<service::mps::Holders()> holders);
  Domains(const Domains&) = delete;
  Domains& operator=(const Domains&) = delete;
  ~Domains();

  // These and no others, from now on. The first call looks at what earlier agents left. GPUs are
  // made exclusive before their daemon starts, and are as before when it has ended. A daemon that
  // is slow to end holds up what needs its devices, and nothing else. What is held stays; told the
  // same again, it asks whether that is still so. Not `complete`: there may be others, and none
  // that runs is ended.
  void Want(std::vector<service::mps::Domain> wanted,
            service::mps::ComputeModePolicy policy,
            bool complete = true);

  // All MIG devices that there are, by the names of their domains; nothing: that is not known. The
  // directories of others are removed when nobody holds them and no daemon is there.
  void HaveMigDevices(std::optional<std::set<std::string>> names);

  // The driver is another one, or was loaded again, and has forgotten the modes.
  void ModesForgotten();

  // What failed is tried at once, not after its pause.
  void TryAgain();

  // By name; of those that are wanted, and of those that are still being ended.
  [[nodiscard]] std::map<std::string, Condition> conditions() const;
  // With what they were started, of those that are ready.
  [[nodiscard]] std::map<std::string, service::mps::Domain> ready() const;
  // As service::mps::Plan has them.
  [[nodiscard]] const std::vector<service::mps::Domain>& kept() const { return plan_.kept; }
  [[nodiscard]] const std::map<std::string, std::string>& waiting() const { return plan_.waiting; }
  // Of GPUs that are not as MPS needs them, or not yet as before: why, by UUID.
  [[nodiscard]] const std::map<std::string, std::string>& mode_problems() const {
    return mode_problems_;
  }
  // Why nothing can be brought about; empty: it can.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Nothing is being looked at or ended any more.
  [[nodiscard]] bool settled() const { return !busy_ && ending_.empty(); }

 private:
  using Lives = std::map<std::string, std::unique_ptr<DomainLife>>;
  // Devices of daemons, by domain; none: nobody knows which.
  using Devices = std::map<std::string, std::vector<service::mps::Member>>;

  struct Around;  // what a look found
  struct ModeEnds;
  void LookAround();
  void Looked(Around around);
  void CouldNotLook(const Around& around);
  [[nodiscard]] service::mps::Plan Decide() const;
  void Reconcile();
  void TellKept(const std::vector<service::mps::Domain>& before);
  void ReconcileSoon();
  void TellStep(const service::mps::Step& step);
  void EndThose();
  void End(const service::mps::Step& step, Stopping stopping);
  void EndOf(const std::string& name, const base::Result<void>& end);
  [[nodiscard]] bool WaitsForAnEnd(const service::mps::Step& step) const;
  [[nodiscard]] std::vector<service::mps::Step> ModesToRestore();
  [[nodiscard]] std::vector<service::mps::Member> ToBeExclusive() const;
  void ChangeModes();
  [[nodiscard]] ModeEnds Change(const std::vector<service::mps::Step>& restored,
                                const std::vector<service::mps::Member>& exclusive,
                                bool unknown);
  void ChangedModes(const ModeEnds& ends);
  void TellModes();
  void BeginThose();
  void RemoveLeft();
  void EndRemoving(const Removed& removed);
  [[nodiscard]] std::vector<service::mps::Found> FoundNow() const;
  DomainLife& NewLife(const service::mps::Domain& domain);

  net::Loop& loop_;
  base::Log& log_;
  Machine machine_;
  std::function<void()> changed_;
  std::function<service::mps::Holders()> holders_;
  ComputeModes modes_;  // of the job's thread while one runs
  service::mps::ModesBefore modes_before_;
  std::optional<base::Error> modes_unknown_;  // why; none is changed then
  std::map<std::string, std::string> mode_problems_;
  std::map<std::string, base::RepeatedFailure> mode_failures_;  // by GPU
  std::optional<std::vector<service::mps::Domain>> wanted_;
  service::mps::ComputeModePolicy policy_ = service::mps::ComputeModePolicy::kUnchanged;
  bool looked_ = false;
  std::string problem_;
  bool busy_ = false;
  bool again_ = false;                     // something else was wanted meanwhile
  std::map<std::string, Seen> left_;       // by earlier agents, not yet adopted or ended
  service::mps::Plan plan_;                // the last
  std::vector<service::mps::Step> steps_;  // of it, while they are being done
  Devices ending_;                         // of those that are being ended
  Devices stayed_;                         // of those that did not end
  std::map<std::string, base::RepeatedFailure> end_failures_;  // by domain
  std::optional<std::set<std::string>> mig_;
  // When it was last looked for what is left.
  std::optional<std::set<std::string>> left_alone_;
  base::RepeatedFailure removal_;
  bool complete_ = true;
  bool end_stayed_ = false;  // it is time to end those once more
  bool try_again_ = false;   // something did not end, or a mode could not be changed
  std::unique_ptr<net::Timer> look_again_, modes_again_, removal_again_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Lives lives_;
  Job job_;  // last: its thread ends first
};

}  // namespace partita::agent::mps
