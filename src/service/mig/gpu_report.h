// What became of each GPU in a change, and the words for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/gpu_identity.h"
#include "model/inventory.h"

namespace partita::service::mig {

enum class GpuEnd : std::uint8_t {
  kDone,        // every step succeeded
  kWaiting,     // its mode waits for a reset or a reboot, also where the reset is what failed
  kPutBack,     // failed or stopped, and as it was before
  kLeft,        // failed or stopped, and could not be put back
  kUnknown,     // a call was given up and may still run: only a later look can tell
  kGone,        // failed or stopped, and no longer there
  kFailed,      // failed, and left where it failed
  kStopped,     // stopped before anything was done to it
  kOutOfReach,  // nothing can be done to it without the driver
  kOtherwise,   // every step succeeded, and yet it is not as wanted
};

struct GpuHolders {
  std::vector<model::Process> processes;
  std::vector<model::HiddenHolder> hidden;

  [[nodiscard]] static GpuHolders Of(const model::Gpu& gpu);
  [[nodiscard]] bool empty() const { return processes.empty() && hidden.empty(); }
};

struct GpuFailure {
  std::string step;  // empty: without a driver there are no steps to name
  base::Error error;
  GpuHolders holders;  // of a GPU that is in use, in the look after the failure
};

struct GpuReport {
  model::GpuIdentity gpu;
  GpuEnd end = GpuEnd::kDone;
  std::vector<GpuFailure> failures = {};               // a create that fails is planned once more
  std::optional<base::Error> why_left = std::nullopt;  // of kLeft; absent: it does not stay so
  GpuHolders holders = {};  // whom the reset of a mode that waits must wait for

  // Something went wrong, whatever became of it.
  [[nodiscard]] bool Failed() const;
};

struct ApplyReport {
  bool applied = false;         // everything is as wanted, seen by reading it again
  bool outdated = false;        // nothing was done: the plan is no longer what was agreed to
  bool reset_required = false;  // some mode waits for a reset, or where none is possible, a reboot
  bool stopped = false;         // before it was done
  std::vector<GpuReport> gpus;  // those to which something was or should have been done
  std::optional<base::Error> goal_error;  // why nobody can tell what was wanted by now
  model::Inventory after;

  [[nodiscard]] bool Failed() const;
};

// What failed, what became of it and what is there now, a line each.
[[nodiscard]] std::vector<std::string> ErrorTexts(const ApplyReport& report);
[[nodiscard]] std::vector<std::string> ErrorTexts(const std::vector<GpuReport>& gpus,
                                                  const model::Inventory& after);
// Whose work a reset must wait for.
[[nodiscard]] std::vector<std::string> WaitingTexts(const ApplyReport& report);

}  // namespace partita::service::mig
