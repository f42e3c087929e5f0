// What the random test's model remembers of its holders.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "service/ledger/state.h"
#include "service/ledger/testing/grid.h"

namespace partita::service::ledger::testing {

struct PodModel {
  Device device;
  Area area;
  Owner owner;
  bool gone = false;
};
struct ClaimModel {
  ClaimName name;
  std::vector<Use> uses;
  std::vector<Area> areas;  // of each use
  ClaimStep step = ClaimStep::kPrepareStarted;
  std::uint64_t attempt = 0;
  bool to_be_made = false;
};
struct PlanModel {
  std::vector<Area> scope;
  bool locked = false;
};
struct OfferModel {
  Via via = Via::kDevicePlugin;
  std::optional<Via> next;
};

// What a careful person would write down, with copies for the case that it must be forgotten.
struct Book {
  Grid grid;
  std::map<std::string, PodModel> pods;  // by key of the device
  std::map<std::string, ClaimModel> claims;
  std::map<std::string, PlanModel> plans;
  std::array<OfferModel, kGpus> offers;

  [[nodiscard]] bool AnybodyIn(const Area& area) const {
    for (const auto& [key, pod] : pods)
      if (!pod.gone && SlicesMeet(pod.area, area)) return true;
    for (const auto& [uid, claim] : claims)
      for (const Area& one : claim.areas)
        if (SlicesMeet(one, area)) return true;
    return false;
  }
};

}  // namespace partita::service::ledger::testing
