// A state that verbs are decided over and carried out on, without a disk.
#pragma once

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "service/ledger/claims.h"
#include "service/ledger/holds.h"
#include "service/ledger/offers.h"
#include "service/ledger/plans.h"
#include "service/ledger/sightings.h"
#include "service/ledger/testing/machine.h"

namespace partita::service::ledger::testing {

// Two GPUs; the second has 3g at slices 0-3, divided in two, and 1g at slice 4.
class VerbsTest : public ::testing::Test {
 protected:
  VerbsTest() {
    LayOut(machine_, 1, {{9, {0, 4}, {{0, 2}, {2, 1}}}, {19, {4, 1}, {{0, 1}}}});
    Do(Observe(state_, machine_, {}));
  }

  Receipt Do(Decision decision) {
    for (const Change& change : decision.changes) Apply(state_, change);
    return std::move(decision.receipt);
  }
  Receipt Do(base::Result<Decision> decision) {
    EXPECT_TRUE(decision.ok()) << (decision.ok() ? "" : decision.error().ToString());
    return decision.ok() ? Do(*std::move(decision)) : Receipt();
  }
  static std::string Why(const base::Result<Decision>& decision) {
    return decision.ok() ? "" : decision.error().ToString();
  }

  [[nodiscard]] WholeGpu Gpu(std::size_t gpu) const { return GpuAt(machine_, gpu); }
  [[nodiscard]] MigDevice Mig(std::size_t instance, std::size_t compute = 0) const {
    return MigAt(machine_, 1, instance, compute);
  }
  void OfferAs(std::size_t gpu, Via via) {
    Do(ChangeOffer(state_, BoardOf(Gpu(gpu)), via, At(0)));
    Do(PublishOffers(state_));
  }
  base::Result<Decision> Claiming(const std::string& uid, std::vector<Use> uses, int asked = 100) {
    return StartClaim(state_, {{uid, "default", "c" + uid}, std::move(uses), At(asked)}, At(asked));
  }

  const Owner pod_ = Pod{"", "", "", "nvidia.com/gpu"};
  const Owner train_ = Pod{"default", "train", "main", "nvidia.com/gpu"};
  model::Inventory machine_ = Machine(2);
  State state_;
};

}  // namespace partita::service::ledger::testing
