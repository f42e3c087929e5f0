#include "service/health/xid_policy.h"

#include <gtest/gtest.h>

namespace partita::service::health {
namespace {

using std::chrono::seconds;

XidOptions With(Preset preset) { return {.preset = preset}; }

config::XidRule Rule(std::uint64_t xid, config::XidPolicy policy) {
  return {.xid = xid, .policy = policy};
}

TEST(Judge, FollowsTheTableByDefault) {
  EXPECT_EQ(Judge({}, 45).effect, Effect::kNothing);
  EXPECT_EQ(Judge({}, 31).effect, Effect::kNothing);
  EXPECT_EQ(Judge({}, 94).effect, Effect::kDegraded);
  EXPECT_EQ(Judge({}, 156).effect, Effect::kUnhealthyOnceIdle);
  for (const std::uint64_t xid : {48U, 79U, 81U, 95U, 119U})
    EXPECT_EQ(Judge({}, xid).effect, Effect::kUnhealthy) << xid;
  EXPECT_EQ(Judge({}, 95).proof, Proof::kReset);
  EXPECT_EQ(Judge({}, 79).proof, Proof::kFoundAnew);
  EXPECT_EQ(Judge({}, 81).proof, Proof::kBoot);
  EXPECT_EQ(Judge({}, 4711).effect, Effect::kDegraded);
}

TEST(Judge, TakesAllButSixForFatalAsTheReferenceDoes) {
  for (std::uint64_t xid = 1; xid < 200; ++xid) {
    const bool ignored =
        xid == 13 || xid == 31 || xid == 43 || xid == 45 || xid == 68 || xid == 109;
    EXPECT_EQ(Judge(With(Preset::kReference), xid).effect,
              ignored ? Effect::kNothing : Effect::kUnhealthy)
        << xid;
  }
  // The table's stronger reason stays.
  EXPECT_EQ(Judge(With(Preset::kReference), 79).proof, Proof::kFoundAnew);
  EXPECT_EQ(Judge(With(Preset::kReference), 94).proof, Proof::kReset);
  EXPECT_EQ(Judge(With(Preset::kReference), 32).proof, Proof::kApplication);
}

TEST(Judge, TakesOneForFatalAsGkeDoes) {
  for (std::uint64_t xid = 1; xid < 200; ++xid)
    EXPECT_EQ(Judge(With(Preset::kGke), xid).effect == Effect::kUnhealthy, xid == 48) << xid;
}

TEST(Judge, MakesAnApplicationsErrorFatalWithAnApplicationsProof) {
  XidOptions options;
  options.rules = {Rule(31, config::XidPolicy::kReset)};
  EXPECT_EQ(Judge(options, 31).effect, Effect::kUnhealthy);
  EXPECT_EQ(Judge(options, 31).proof, Proof::kApplication);
  options.rules = {Rule(31, config::XidPolicy::kReboot)};
  EXPECT_EQ(Judge(options, 31).proof, Proof::kFoundAnew);
  EXPECT_EQ(Judge(options, 13).effect, Effect::kNothing);
}

TEST(Judge, PutsRulesBeforeVariablesBeforePreset) {
  XidOptions options = With(Preset::kReference);
  options.overrides.ignored = {79};
  EXPECT_EQ(Judge(options, 79).effect, Effect::kNothing);
  options.overrides.fatal = {79};
  EXPECT_EQ(Judge(options, 79).effect, Effect::kUnhealthy);
  options.rules = {Rule(79, config::XidPolicy::kIgnore)};
  EXPECT_EQ(Judge(options, 79).effect, Effect::kNothing);
  options.overrides = {.disable_all = true, .ignored = {}, .enable_all = false, .fatal = {48}};
  EXPECT_EQ(Judge(options, 95).effect, Effect::kNothing);
  EXPECT_EQ(Judge(options, 48).effect, Effect::kUnhealthy);
}

TEST(Judge, TakesTheLastRuleOfACodeWithItsTime) {
  XidOptions options;
  options.rules = {Rule(48, config::XidPolicy::kIgnore), Rule(48, config::XidPolicy::kReset)};
  options.rules.back().clear_after = seconds(30);
  EXPECT_EQ(Judge(options, 48).effect, Effect::kUnhealthy);
  EXPECT_EQ(Judge(options, 48).clear_after, seconds(30));
  EXPECT_FALSE(Judge(options, 48).by_table);
}

TEST(Judge, AnEventKeepsTheKindThatItHasInTheTable) {
  XidOptions options;
  options.rules = {Rule(31, config::XidPolicy::kEvent), Rule(48, config::XidPolicy::kEvent)};
  EXPECT_EQ(Judge(options, 31).policy, XidPolicy::kEventApplication);
  EXPECT_EQ(Judge(options, 48).policy, XidPolicy::kEventDevice);
  EXPECT_EQ(Judge(options, 48).effect, Effect::kDegraded);
}

TEST(Advice, SaysSomethingForEach) {
  for (const XidRow& row : XidTable()) EXPECT_FALSE(Advice(row.policy).empty());
}

}  // namespace
}  // namespace partita::service::health
