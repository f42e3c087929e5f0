#include "service/health/codec.h"

#include <gtest/gtest.h>

#include "service/health/testing/rules.h"
#include "service/health/testing/ward.h"

namespace partita::service::health {
namespace {

using testing::Ward;
using namespace std::chrono_literals;

Ward Ill() {
  Ward ward;
  ward.options_.rules = {testing::Fatal(31, 30min)};
  ward.Run(4711, 1, 0);
  ward.gpu().errors = 3;
  ward.Xid(31, Ward::Device(1, 0));
  ward.Xid(95);
  ward.Xid(92, Ward::Instance(2));
  ward.After(1s);
  ward.Show(model::FaultKind::kLost);
  ward.After(1s);
  ward.Xid(95);
  ward.health_.recoveries.push_back({Ward::Device(1, 1), ward.facts_.now});
  return ward;
}

TEST(HealthCodec, KeepsAllButTheProofs) {
  const Ward ward = Ill();
  const std::string text = Encode(ward.health_, "boot-1");
  const base::Result<Health> read = Decode(text, "boot-1");
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, ward.health_);
  EXPECT_EQ(Encode(*read, "boot-1"), text);
}

TEST(HealthCodec, ALookThatChangesNothingChangesNoByte) {
  Ward ward = Ill();
  ward.After(2s);
  const std::string text = Encode(ward.health_, "boot-1");
  ward.After(2s);
  EXPECT_EQ(Encode(ward.health_, "boot-1"), text);
}

TEST(HealthCodec, ARestartProvesNothing) {
  Ward ward;
  ward.Xid(95);
  ++ward.facts_.driver.cut_off;
  ward.Live(1s);
  ward.Xid(95);  // of the second load
  ward.health_ = Decode(Encode(ward.health_, "boot-1"), "boot-1").value();
  ward.facts_.driver.cut_off = 0;  // of another program
  ward.Live(1min);
  EXPECT_EQ(ward.State(), model::HealthState::kUnhealthy);
}

TEST(HealthCodec, ARebootForgets) {
  EXPECT_EQ(Decode(Encode(Ill().health_, "boot-1"), "boot-2").value(), Health());
}

TEST(HealthCodec, RefusesWhatMakesNoSense) {
  const std::string good = Encode(Ill().health_, "b");
  EXPECT_FALSE(Decode("", "b").ok());
  EXPECT_FALSE(Decode("{}", "b").ok());
  EXPECT_FALSE(Decode("[]", "b").ok());
  for (const char* word :
       {"\"unhealthy\"", "\"signal\"", "\"lost\"", "4711", "\"gpu\"", "\"at\""}) {
    std::string bad = good;
    const std::size_t place = bad.find(word);
    ASSERT_NE(place, std::string::npos) << word;
    bad.replace(place, std::string(word).size(), "\"nonsense\"");
    EXPECT_FALSE(Decode(bad, "b").ok()) << word;
  }
}

}  // namespace
}  // namespace partita::service::health
