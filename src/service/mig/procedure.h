// One change of a node, from its first hook to what the next boot shall know of it: the procedure
// behind `partita mig apply`, the boot unit and nvidia-mig-parted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/inventory_reader.h"
#include "hw/mig_control.h"
#include "model/inventory.h"
#include "service/mig/apply.h"
#include "service/mig/boot_selection.h"
#include "service/mig/hooks.h"
#include "service/mig/lock.h"

namespace partita::service::mig {

enum class ChangeStatus : std::uint8_t {
  kDone,
  kFailed,
  kInvalid,  // what is wanted can never be here
  kNotApplied,
  kBlocked,        // by somebody's work, or by another change
  kResetRequired,  // some mode waits for a reset or a reboot
  kNoDriver,
  kUndecided,  // nobody agreed yet, or the plan is no longer what was agreed to
};

// Over a plan for this look, before anything is done.
struct Agreement {
  bool agreed = true;
  std::optional<std::vector<GpuSteps>> steps;  // what was shown: anything else is not done
};

// Who else has a say in a change: the ledger, where an agent keeps one.
struct ChangeGuards {
  // Instances that somebody was given; empty: none. Asked with each look.
  std::function<model::PinnedParts(const model::Inventory& node)> pinned = nullptr;
  // See ApplyOptions::gate.
  ChangeGate gate = nullptr;
};

enum class Remember : std::uint8_t {
  kNothing,
  kApplied,  // where everything is as wanted
  kAwaited,  // also what a reset or a reboot will complete
};

struct ChangeOrder {
  NodeGoalFn goal;
  NodeGoalFn modes;      // of a look without a driver; empty: nothing can be done there
  ApplyOptions options;  // without what `agree` and `guards` give
  ChangeGuards guards;
  std::optional<ChangeLock::Request> lock;  // absent: the caller holds it
  // Modes first, then devices, each after its hook and only where something differs, as the
  // reference does it. Otherwise all at once.
  bool in_steps = false;
  std::optional<HookRunner> hooks;
  std::function<base::Result<void>()> before_modes;  // whoever must let go of the GPUs
  std::function<Agreement(const model::Inventory& node, const model::PinnedParts& pinned)> agree;
  Remember remember = Remember::kAwaited;
  // What the next boot selects once the change lasts; absent: as before.
  std::optional<BootSelection> selection;
  Progress progress;
  std::function<void()> through_pci;  // told before modes are changed without a driver
  std::function<void(const std::string& line)> debug;
  std::atomic<bool>* stop = nullptr;
};

struct ChangeEnd {
  ChangeStatus status = ChangeStatus::kDone;
  std::optional<base::Error> error;   // why nothing, or nothing more, was done
  std::optional<ApplyReport> report;  // of the last step
  std::vector<std::string> warnings;  // nothing else depends on these
  bool driver_loaded = true;          // false: only modes could be changed, through PCI

  [[nodiscard]] bool Done() const { return status == ChangeStatus::kDone; }
};

// The status of an error that came before anything was changed.
[[nodiscard]] ChangeStatus StatusOf(const base::Error& error);

// Used by one thread; keeps the driver's library open between runs until Release.
class ChangeProcedure {
 public:
  // Null: with a driver of its own. One that is given has other users: it is let go only while
  // programs run that may need the GPUs, and then it is nobody's.
  explicit ChangeProcedure(const hw::ReaderOptions& options,
                           std::shared_ptr<hw::nvml::Driver> driver = nullptr);

  // Holds the changing lock for its time. Whatever happens, the last hook runs once the first has.
  [[nodiscard]] ChangeEnd Run(const ChangeOrder& order);

  [[nodiscard]] hw::InventoryReader& reader() { return reader_; }
  // Of its own driver.
  void Release();

 private:
  class Once;
  [[nodiscard]] std::optional<hw::nvml::Driver::Lease> LetGo();
  hw::ReaderOptions options_;
  bool own_;
  std::shared_ptr<hw::nvml::Driver> driver_;  // of both
  hw::InventoryReader reader_;
  hw::MigControl control_;
};

}  // namespace partita::service::mig
