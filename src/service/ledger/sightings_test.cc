#include "service/ledger/sightings.h"

#include "service/ledger/testing/verbs_fixture.h"

namespace partita::service::ledger {
namespace {

using testing::At;

class SightingsTest : public testing::VerbsTest {
 protected:
  Incarnation Now(std::size_t instance, std::size_t compute = 0) {
    const SeenCompute* seen = FindSeen(state_, Mig(instance, compute));
    return seen == nullptr ? Incarnation(0) : seen->incarnation;
  }
  void Look() { Do(Observe(state_, machine_, {})); }
};

TEST_F(SightingsTest, OfAnUnchangedMachineChangeNothing) {
  EXPECT_TRUE(Observe(state_, machine_, {}).changes.empty());
}

TEST_F(SightingsTest, TellIncarnationsApart) {
  const Incarnation first = Now(0);
  machine_.gpus[1].mig->instances[0].id = model::GpuInstanceId(7);
  Look();
  EXPECT_NE(Now(0), first) << "another GPU instance at the same place";
  const Incarnation second = Now(0);
  machine_.gpus[1].mig->instances[0].compute_instances[0].uuid = model::MigUuid("MIG-z");
  Look();
  EXPECT_NE(Now(0), second);
  const Incarnation third = Now(0);
  const model::Inventory full = machine_;
  const MigDevice device = Mig(0);
  testing::LayOut(machine_, 1, {});
  Look();
  EXPECT_EQ(FindSeen(state_, device), nullptr);
  machine_ = full;
  Look();
  EXPECT_NE(Now(0), third) << "was away meanwhile";
}

TEST_F(SightingsTest, AfterARebootAreAllNew) {
  const Incarnation before = Now(0);
  Do(Observe(state_, machine_, {}, true));
  EXPECT_NE(Now(0), before);
}

TEST_F(SightingsTest, KeepWhatCannotBeRead) {
  const State before = state_;
  model::Inventory hidden = machine_;
  hidden.gpus[1].mig->instances.clear();
  hidden.gpus[1].mig_error = base::Error(base::ErrorCode::kUnavailable, "GPU is lost");
  EXPECT_TRUE(Observe(state_, hidden, {}).changes.empty());
  hidden.gpus.clear();
  EXPECT_TRUE(Observe(state_, hidden, {}).changes.empty());
  EXPECT_EQ(state_, before);
}

TEST_F(SightingsTest, MarkAHoldGoneWhenItsDeviceIs) {
  Do(Bind(state_, Mig(0), train_, At(1)));
  const MigDevice old = Mig(0);
  testing::LayOut(machine_, 1, {{14, {0, 2}, {{0, 2}}}});
  Look();
  EXPECT_TRUE(state_.holds.at(KeyOf(old)).gone);
  EXPECT_EQ(Mig(0).uuid, old.uuid) << "the driver gives the UUID to another profile";
  EXPECT_EQ(StateOf(state_, Mig(0)), DeviceState::kFree);
  Do(Reserve(state_, {pod_, {Mig(0)}}, At(2)));
}

TEST_F(SightingsTest, GiveAPodBackWhatReturnsUnlessItWasGivenAway) {
  Do(Bind(state_, Mig(0), train_, At(1)));
  const std::string key = KeyOf(Mig(0));
  const model::Inventory with = machine_;
  model::Inventory without = machine_;
  testing::LayOut(without, 1, {});
  machine_ = without;
  Look();
  EXPECT_TRUE(state_.holds.at(key).gone);
  machine_ = with;
  Look();
  EXPECT_FALSE(state_.holds.at(key).gone);
  machine_ = without;
  Look();
  Do(Reserve(state_, {pod_, {Gpu(1)}}, At(2)));
  machine_ = with;
  Look();
  EXPECT_TRUE(state_.holds.at(key).gone) << "its atoms are somebody else's";
  EXPECT_EQ(state_.holds.at("GPU-1").gone, false);
}

TEST_F(SightingsTest, SwapWhatWentForWhatCameBackInOneLook) {
  Do(Bind(state_, Mig(0), train_, At(1)));
  const std::string first = KeyOf(Mig(0));
  const model::Inventory before = machine_;
  testing::LayOut(machine_, 1, {{5, {0, 4}, {{0, 4}}}});
  Look();
  Do(Reserve(state_, {pod_, {Mig(0)}}, At(2)));
  const std::string second = KeyOf(Mig(0));
  machine_ = before;
  Look();
  EXPECT_FALSE(state_.holds.at(first).gone);
  EXPECT_TRUE(state_.holds.at(second).gone);
}

TEST_F(SightingsTest, CallForeignWhatNobodyAskedFor) {
  const std::set<model::InstanceKey> asked = {Mig(0).instance()};
  State fresh;
  for (const Change& change : Observe(fresh, machine_, asked).changes) Apply(fresh, change);
  EXPECT_FALSE(fresh.instances.at(KeyOf(Mig(0).instance())).foreign);
  EXPECT_TRUE(fresh.instances.at(KeyOf(Mig(1).instance())).foreign);
  EXPECT_EQ(OwnMigDevices(fresh).size(), 2U);
  EXPECT_EQ(OwnMigDevices(state_).size(), 3U);
  for (const Change& change : Observe(fresh, machine_, {}).changes) Apply(fresh, change);
  EXPECT_FALSE(fresh.instances.at(KeyOf(Mig(1).instance())).foreign) << "asked for by now";
}

TEST_F(SightingsTest, DoNotCallForeignWhatAnOperationMakes) {
  Do(Withdraw(state_, "p", {Gpu(0)}, At(1)));
  Do(Lock(state_, "p"));
  testing::LayOut(machine_, 0, {{19, {0, 1}, {{0, 1}}}});
  Do(Observe(state_, machine_, std::set<model::InstanceKey>{}));
  EXPECT_FALSE(state_.instances.at("GPU-0/19@0").foreign);
}

}  // namespace
}  // namespace partita::service::ledger
