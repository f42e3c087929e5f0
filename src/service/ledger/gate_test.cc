#include "service/ledger/gate.h"

#include "service/ledger/testing/verbs_fixture.h"

namespace partita::service::ledger {
namespace {

using testing::At;

class GateTest : public testing::VerbsTest {
 protected:
  std::vector<std::string> Blockers(const Device& device, const std::string& plan = "p") {
    std::vector<std::string> texts;
    for (const Blocker& blocker : WhoBlocks(state_, machine_, device, plan))
      texts.push_back(blocker.text);
    return texts;
  }
  Device Instance(std::size_t i) const {
    return WholeInstance(Gpu(1), Mig(i).profile, Mig(i).memory);
  }
  using Lines = std::vector<std::string>;
};

TEST_F(GateTest, IsClearWhereNobodyIs) {
  EXPECT_EQ(Blockers(Gpu(0)), Lines());
  EXPECT_EQ(Blockers(Instance(0)), Lines());
}

TEST_F(GateTest, NamesHoldersWhoHaveStartedNothing) {
  Do(Bind(state_, Mig(0), train_, At(1)));
  Do(Reserve(state_, {pod_, {Gpu(0)}}, At(1)));
  EXPECT_EQ(Blockers(Gpu(0)), Lines{"a pod not yet seen (nvidia.com/gpu)"});
  EXPECT_EQ(Blockers(Gpu(1)), Lines{"pod default/train (main)"});
  EXPECT_EQ(Blockers(Instance(0)), Lines{"pod default/train (main)"});
  EXPECT_EQ(Blockers(Instance(1)), Lines());
}

TEST_F(GateTest, NamesClaimsAndThoseWhoOnlyLook) {
  OfferAs(0, Via::kDra);
  Do(Claiming("u", {{Gpu(0)}}));
  Do(Claiming("admin", {{Gpu(0), true}}));
  EXPECT_EQ(Blockers(Gpu(0)), (Lines{"claim default/cadmin (admin)", "claim default/cu (u)"}));
}

TEST_F(GateTest, IsNotInItsOwnWay) {
  Do(Withdraw(state_, "p", {Gpu(0)}, At(1)));
  Do(Lock(state_, "p"));
  EXPECT_EQ(Blockers(Gpu(0)), Lines());
  EXPECT_EQ(Blockers(Gpu(0), "q"), Lines{"operation p"});
}

TEST_F(GateTest, NamesProcessesWhereTheyAre) {
  model::Process process;
  process.pid = model::Pid(4711);
  process.name = "python3";
  process.gpu_instance = model::GpuInstanceId(1);
  machine_.gpus[1].processes = {process};
  EXPECT_EQ(Blockers(Instance(0)), Lines{"pid 4711 (python3)"});
  EXPECT_EQ(Blockers(Instance(1)), Lines());
  machine_.gpus[1].processes[0].gpu_instance.reset();
  EXPECT_EQ(Blockers(Instance(1)), Lines{"pid 4711 (python3)"}) << "it may be anywhere";
  EXPECT_EQ(WhoBlocks(state_, machine_, Gpu(1), "p")[0].pid, model::Pid(4711));
}

TEST_F(GateTest, NamesWhoCannotBeSeenAndWhatCannotBeKnown) {
  machine_.gpus[0].hidden_holders = {{std::nullopt, model::Bytes(1 << 30)}};
  EXPECT_EQ(Blockers(Gpu(0)), Lines{"somebody who cannot be seen from here holds 1.0 GiB"});
  machine_.gpus[0].hidden_holders.clear();
  machine_.gpus[0].processes_error = base::Error(base::ErrorCode::kDenied, "no rights");
  EXPECT_EQ(Blockers(Gpu(0)), Lines{"who uses it cannot be read: no rights"});
  machine_.gpus.erase(machine_.gpus.begin());
  EXPECT_EQ(Blockers(WholeGpu{model::GpuUuid("GPU-0")}),
            Lines{"GPU-0 is not there to be asked who uses it"});
}

TEST_F(GateTest, NamesForeignInstances) {
  Do(Observe(state_, machine_, {}));
  testing::LayOut(machine_, 0, {{19, {0, 1}, {}}});
  Do(Observe(state_, machine_, std::set<model::InstanceKey>{}));
  EXPECT_EQ(Blockers(Gpu(0)), Lines{"GPU instance 1, which is not of our making"});
}

TEST_F(GateTest, PinsInstancesThatSomebodyHoldsOrHasReserved) {
  using Keys = std::map<model::InstanceKey, std::string>;
  EXPECT_EQ(Pinned(state_, machine_).instances, Keys());
  Do(Reserve(state_, {pod_, {Mig(0, 1)}}, At(1)));
  EXPECT_EQ(Pinned(state_, machine_).instances, (Keys{{Mig(0).instance(), ToString(Owner(pod_))}}));
  Do(Release(state_, Mig(0, 1), pod_));
  Do(Withdraw(state_, "p", {Gpu(1)}, At(1)));
  Do(Lock(state_, "p"));
  EXPECT_EQ(Pinned(state_, machine_).instances, Keys())
      << "an operation does not keep itself from working";
  Do(EndPlan(state_, "p"));
  Do(Observe(state_, machine_, {}));
  Do(Bind(state_, Gpu(1), train_, At(2)));
  EXPECT_EQ(Pinned(state_, machine_).instances,
            (Keys{{Mig(0).instance(), ToString(Owner(train_))},
                  {Mig(1).instance(), ToString(Owner(train_))}}));
}

TEST_F(GateTest, PinsGpusThatSomebodyHoldsAsAWhole) {
  using Gpus = std::vector<model::PinnedGpu>;
  const model::GpuUuid first = *machine_.gpus[0].uuid;
  Do(Withdraw(state_, "p", {Gpu(0)}, At(1)));
  EXPECT_EQ(Pinned(state_, machine_).gpus, Gpus()) << "an operation is the one that plans";
  Do(EndPlan(state_, "p"));
  Do(Reserve(state_, {pod_, {Mig(0, 1)}}, At(1)));
  EXPECT_EQ(Pinned(state_, machine_).gpus, Gpus()) << "a slice is named by its instance";
  Do(Release(state_, Mig(0, 1), pod_));
  Do(Bind(state_, Gpu(0), train_, At(2)));
  EXPECT_EQ(Pinned(state_, machine_).gpus, (Gpus{{first, ToString(Owner(train_))}}));
}

}  // namespace
}  // namespace partita::service::ledger
