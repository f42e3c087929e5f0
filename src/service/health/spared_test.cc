#include "service/health/spared.h"

#include <gtest/gtest.h>

#include "service/health/testing/rules.h"
#include "service/health/testing/ward.h"

namespace partita::service::health {
namespace {

using testing::kFirst;
using testing::kSecond;
using testing::Ward;
using namespace std::chrono_literals;

using Gpus = std::set<model::GpuUuid>;

TEST(Spared, AreThoseWhoseCallsMayNotComeBack) {
  for (const std::uint64_t xid : {79U, 119U, 120U}) {
    Ward ward;
    ward.Xid(xid);
    EXPECT_EQ(Spared(ward.health_), Gpus{kFirst}) << xid;
  }
  Ward others;
  others.options_.rules = {{.xid = 119, .policy = config::XidPolicy::kIgnore}};
  for (const std::uint64_t xid : {31U, 48U, 95U, 119U, 143U}) others.Xid(xid);
  EXPECT_EQ(Spared(others.health_), Gpus());
}

TEST(Spared, UntilItIsProvenThatItIsOver) {
  Ward ward;
  ward.Xid(119);
  ward.Live(1min);
  EXPECT_EQ(Spared(ward.health_), Gpus{kFirst});
  ++ward.facts_.driver.module;
  ward.After(2s);
  EXPECT_EQ(ward.State(), model::HealthState::kRecovering);
  EXPECT_EQ(Spared(ward.health_), Gpus()) << "it is looked at while it is held back";
}

class ProbesTest : public ::testing::Test {
 protected:
  Gpus After(std::chrono::seconds time) {
    now_ += time;
    return probes_.Due(spared_, now_);
  }
  Probes probes_;
  Time now_{100h};
  std::map<model::GpuUuid, Sign> spared_ = {{kFirst, {{1, 0}, 0x20B010DE}}};
};

TEST_F(ProbesTest, AreOneAMinute) {
  EXPECT_EQ(After(0s), Gpus());
  EXPECT_EQ(After(59s), Gpus());
  EXPECT_EQ(After(1s), Gpus{kFirst});
  EXPECT_EQ(After(59s), Gpus());
  EXPECT_EQ(After(1s), Gpus{kFirst});
}

TEST_F(ProbesTest, ComeAtOnceWithASignAndOnce) {
  EXPECT_EQ(After(0s), Gpus());
  spared_[kFirst].driver.module = 2;
  EXPECT_EQ(After(2s), Gpus{kFirst});
  EXPECT_EQ(After(2s), Gpus());
  ++spared_[kFirst].driver.cut_off;
  EXPECT_EQ(After(2s), Gpus{kFirst});
  probes_.Want(kFirst);
  EXPECT_EQ(After(2s), Gpus{kFirst});
  EXPECT_EQ(After(2s), Gpus());
}

TEST_F(ProbesTest, WaitUntilItAnswersOnTheBus) {
  EXPECT_EQ(After(0s), Gpus());
  spared_[kFirst].on_bus = 0xFFFFFFFF;
  EXPECT_TRUE(IsOffTheBus(spared_[kFirst]));
  EXPECT_EQ(After(2s), Gpus());
  spared_[kFirst].on_bus.reset();
  EXPECT_EQ(After(2s), Gpus{kFirst}) << "it left the list: nobody knows";
  spared_[kFirst].on_bus = 0x20B010DE;
  EXPECT_EQ(After(2s), Gpus{kFirst});
}

TEST_F(ProbesTest, BeginAnewForWhoIsSparedAnew) {
  EXPECT_EQ(After(0s), Gpus());
  spared_ = {{kSecond, {{1, 0}, std::nullopt}}};
  EXPECT_EQ(After(59s), Gpus());
  spared_[kFirst] = {{1, 0}, 0x20B010DE};
  EXPECT_EQ(After(1s), Gpus()) << "each has its own minute";
  EXPECT_EQ(After(59s), Gpus{kSecond});
  probes_.Want(model::GpuUuid("GPU-nobody"));
}

}  // namespace
}  // namespace partita::service::health
