// What kubelet is shown of each resource. Nothing disappears while kubelet might be giving it away:
// it looks devices up after Allocate without asking whether they are still there.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/device_plugin/offered.h"
#include "service/ledger/state.h"

namespace partita::service::device_plugin {

inline constexpr std::chrono::seconds kListedAfterIsGone{60};

struct Listed {
  std::string id;
  bool healthy = false;
  std::optional<int> numa_node;
  bool operator==(const Listed&) const = default;
};

// Remembers what was listed. What is new is listed at once. What is no longer offered, or withdrawn
// by the ledger, stays as unhealthy for a minute, and as long as a pod holds it, also one that got
// it from an earlier life of this program. A device that would meet what somebody else holds (a
// whole GPU beside pods with shares of it) is unhealthy until that is over: giving it out would
// fail the pod.
class Listings {
 public:
  // By resource; devices in the order of the offer, then those that are on their way out by id. A
  // resource whose last device went is listed empty for as long as a device would be.
  std::map<std::string, std::vector<Listed>> Next(const Offered& offered,
                                                  const ledger::State& state,
                                                  ledger::Time now);
  // When Next may have another answer although nothing happened.
  [[nodiscard]] std::optional<ledger::Time> next_change() const { return next_change_; }

 private:
  struct Shown {
    std::optional<int> numa_node;
    std::optional<ledger::Time> leaving;  // since when; absent: it is offered
  };
  struct Resource {
    std::map<std::string, Shown> devices;  // by id
    std::optional<ledger::Time> empty;     // since when
  };
  using Ids = std::set<std::string>;

  // Lists, behind what is offered, what is on its way out; forgets what is out.
  void Leave(Resource& resource,
             const Ids& listed,
             const Ids& held,
             ledger::Time now,
             std::vector<Listed>& list);
  // Whether a resource without devices has been shown as such for long enough.
  bool Forget(Resource& resource, ledger::Time now);

  std::map<std::string, Resource> shown_;
  std::optional<ledger::Time> next_change_;
};

}  // namespace partita::service::device_plugin
