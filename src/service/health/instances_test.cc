#include "service/health/instances.h"

#include <gtest/gtest.h>

#include "service/health/codec.h"
#include "service/health/testing/rules.h"
#include "service/health/testing/ward.h"

namespace partita::service::health {
namespace {

using enum model::HealthState;
using testing::Fatal;
using testing::Laid;
using testing::Ward;
using namespace std::chrono_literals;

// The GPU instance 5 has the upper half of the memory, 1 the first slice.
Ward Halved() {
  Ward ward;
  ward.LayOut({{5, 9, 4}, {1, 19, 0}});
  ward.After(1s);
  return ward;
}

// XID 95 has taken 5, alone.
Ward HalfIll() {
  Ward ward = Halved();
  ward.Xid(95, Ward::Device(5, 0));
  ward.After(1s);
  EXPECT_EQ(ward.State(Ward::Device(5, 0)), kUnhealthy);
  EXPECT_EQ(ward.State(), kHealthy);
  return ward;
}

TEST(FaultOfAnInstance, StaysWithItWhateverIsMadeBesideIt) {
  Ward ward = HalfIll();
  ward.LayOut({{5, 9, 4}, {7, 19, 1}});
  ward.Live(1min);
  EXPECT_EQ(ward.State(Ward::Device(5, 0)), kUnhealthy);
  EXPECT_EQ(ward.State(Ward::Device(7, 0)), kHealthy);
}

// The bad memory is under somebody else, or under nobody yet.
TEST(FaultOfAnInstance, IsTheGpusWhenItIsNoMore) {
  const std::vector<std::vector<Laid>> layouts = {
      {{5, 19, 0}, {6, 9, 4}}, {{5, 9, 0}}, {{5, 14, 4}}, {{1, 19, 0}}, {}};
  for (const std::vector<Laid>& layout : layouts) {
    Ward ward = HalfIll();
    ward.LayOut(layout);
    ward.Live(1min);
    EXPECT_EQ(ward.State(), kUnhealthy);
    EXPECT_EQ(ward.State({.gpu = testing::kSecond}), kHealthy);
    ASSERT_EQ(ward.health_.faults.size(), 1U);
    // And ends as the GPU's would.
    ++ward.facts_.driver.module;
    ward.Live(5s);
    EXPECT_EQ(ward.State(), kHealthy);
  }
}

TEST(FaultOfAnInstance, IsTheGpuInstancesWhenItsComputeInstanceIsNoMore) {
  Ward ward = HalfIll();
  ward.gpu().instances->front().compute_instances = {model::ComputeInstanceId(1),
                                                     model::ComputeInstanceId(2)};
  ward.Live(1min);
  EXPECT_EQ(ward.State(Ward::Device(5, 1)), kUnhealthy);
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kHealthy);
}

// Nobody was left in the instance when it went; others run on the GPU.
TEST(FaultOfAnInstance, ThatWaitsForAnIdleGpuWaitsForAllOfIt) {
  Ward ward = Halved();
  ward.Run(7, 1, 0);
  ward.Xid(156, Ward::Instance(5));
  ward.After(1s);
  EXPECT_EQ(ward.State(Ward::Instance(5)), kUnhealthy);
  ward.LayOut({{1, 19, 0}});
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kDegraded);
  ward.gpu().running->clear();
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

// The same again, of whoever was given the id meanwhile.
TEST(FaultOfAnInstance, IsNotForgottenForTheNextWithItsId) {
  Ward ward = HalfIll();
  ward.Xid(95, Ward::Device(5, 0));
  ward.LayOut({{5, 19, 0}});
  ward.After(1s);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(FaultOfAnInstance, OfAnApplicationGoesWithIt) {
  Ward ward = Halved();
  ward.options_.rules = {Fatal(31)};
  ward.Run(7);
  ward.Xid(31, Ward::Device(5, 0));
  ward.After(1s);
  EXPECT_EQ(ward.State(Ward::Device(5, 0)), kUnhealthy);
  ward.LayOut({{5, 19, 0}});
  ward.After(1s);
  EXPECT_TRUE(ward.health_.faults.empty());
}

TEST(FaultOfAnInstance, WaitsWhileNobodyCanReadTheInstances) {
  Ward ward = HalfIll();
  ward.gpu().instances.reset();
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kHealthy);
  EXPECT_EQ(ward.State(Ward::Device(5, 0)), kUnhealthy);
}

// An instance that was made a moment ago is in no snapshot yet.
TEST(FaultOfAnInstance, IsNotMovedByALookFromBeforeIt) {
  Ward ward = Halved();
  ward.Xid(95, Ward::Device(6, 0));
  ward.LookAtWhatIsKnown();
  EXPECT_EQ(ward.State(), kHealthy);
  EXPECT_EQ(ward.State(Ward::Device(6, 0)), kUnhealthy);
}

TEST(FaultOfAnInstance, BesideOneOfTheGpuIsOneWithTheWorse) {
  for (const bool gpu_first : {false, true}) {
    Ward ward = Halved();
    const Part parts[] = {Ward::Gpu(), Ward::Device(5, 0)};
    ward.Xid(48, parts[gpu_first ? 0 : 1]);
    ward.After(1s);
    ward.Xid(48, parts[gpu_first ? 1 : 0]);
    ward.LayOut({});
    ward.After(1s);
    ASSERT_EQ(ward.health_.faults.size(), 1U);
    EXPECT_EQ(ward.health_.faults[0].part, Ward::Gpu());
    EXPECT_EQ(ward.health_.faults[0].count, 2U);
    EXPECT_EQ(ward.health_.faults[0].last, ward.facts_.now - 1s) << "the later";
  }
}

TEST(FaultOfAnInstance, KnowsItsInstanceAlsoAfterARestart) {
  Ward ward = HalfIll();
  ward.health_ = Decode(Encode(ward.health_, "boot"), "boot").value();
  ward.LayOut({{5, 19, 0}});
  ward.After(2s);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

// health.json of an agent that did not write whose a fault is: as it is now.
TEST(FaultOfAnInstance, OfAnOlderFileIsOfWhoIsThere) {
  Ward ward = HalfIll();
  std::string text = Encode(ward.health_, "boot");
  for (const std::string key : {"\"profile\"", "\"start\""}) {
    const std::size_t at = text.find(key);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, key.size(), "\"x" + key.substr(1));
  }
  const base::Result<Health> read = Decode(text, "boot");
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  ward.health_ = *read;
  ward.After(2s);
  EXPECT_EQ(ward.State(), kHealthy);
  EXPECT_EQ(ward.State(Ward::Device(5, 0)), kUnhealthy);
}

}  // namespace
}  // namespace partita::service::health
