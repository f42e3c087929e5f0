// From the domains that are wanted and those that are there to what is to be done. Pure: what is
// there was looked at before, and agent/mps does the steps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/inventory.h"
#include "service/mps/domain.h"

namespace partita::service::mps {

// A directory below the root that a daemon was or is in.
struct Found {
  std::string name;
  bool running = false;  // a daemon answers there
  // That it was started with; absent: the record is not of this daemon, or there is none. Of one
  // that does not run: that it had last.
  std::optional<Domain> parameters;
  bool operator==(const Found&) const = default;
};

// Modes that GPUs had before they were made exclusive for a domain, by UUID.
using ModesBefore = std::map<std::string, model::ComputeMode>;

// Who has what of the devices that domains are of, by UUID: pods, and reservations for them.
struct Holders {
  std::set<std::string> shares;     // of these somebody has a share
  std::set<std::string> otherwise;  // and these somebody has whole, or as time-slices
  bool complete = true;             // false: there may be others
  bool operator==(const Holders&) const = default;
};

enum class ComputeModePolicy : std::uint8_t { kExclusive, kUnchanged };

struct Step {
  enum class Kind : std::uint8_t {
    kStop,         // a daemon that nobody wants any more, and what is left of it
    kRestoreMode,  // of a GPU that is in no domain any more
    kKeep,         // as it is, with its clients
    kRestart,      // with other parameters: its clients end. All of these end before one begins
    kStart,
  };
  Kind kind = Kind::kKeep;
  std::string name;  // of the domain; kRestoreMode: the GPU's UUID
  Domain domain{};   // as it is to be; empty for kStop and kRestoreMode
  model::ComputeMode mode = model::ComputeMode::kDefault;  // kRestoreMode
  bool held = false;  // kKeep, kStart: as it was, for those who have shares; modes too
  bool operator==(const Step&) const = default;
};
[[nodiscard]] std::string_view ToString(Step::Kind kind);

struct Plan {
  std::vector<Step> steps;  // in the order in which they are to be done
  // Not wanted, or not so, but held: these stay until the last holder has gone.
  std::vector<Domain> kept;
  // Wanted, and not to be had now: why, by name.
  std::map<std::string, std::string> waiting;
  bool operator==(const Plan&) const = default;
};

// What ends comes first, since a device may go from one domain to another, then modes, then what
// stays or begins. A domain with the same parameters is kept, and so are its clients; another that
// changes does not touch it. A domain of which somebody has a share stays as it is, whatever is
// wanted: its end would be the end of the holder's programs, and other limits are not what it was
// given. What would need one of its devices waits, and so does a domain of a device that somebody
// has otherwise: he would find it exclusive.
[[nodiscard]] Plan Reconcile(const std::vector<Domain>& wanted,
                             const std::vector<Found>& found,
                             const ModesBefore& modes,
                             ComputeModePolicy policy,
                             const Holders& holders);

// The GPUs that are exclusive for a domain: whole ones. A GPU with MIG devices keeps its mode.
[[nodiscard]] std::vector<std::string> ExclusiveGpus(const std::vector<Domain>& wanted,
                                                     ComputeModePolicy policy);

}  // namespace partita::service::mps
