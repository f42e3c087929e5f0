#include "service/mps/reconcile.h"

#include <gtest/gtest.h>

namespace partita::service::mps {
namespace {

using Kind = Step::Kind;
using model::ComputeMode;

Domain On(const std::string& uuid, std::uint32_t threads = 50) {
  Domain domain;
  domain.name = uuid;
  domain.members.resize(1);
  domain.members[0].uuid = uuid;
  domain.members[0].mig = uuid.starts_with("MIG-");
  domain.memory = {model::Mebibytes(1024)};
  domain.threads = model::Percent(threads);
  return domain;
}

Found Running(const Domain& domain) {
  return {.name = domain.name, .running = true, .parameters = domain};
}

// "keep GPU-a, start GPU-b".
std::string Told(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    if (!text.empty()) text += ", ";
    text += std::string(ToString(step.kind)) + " " + step.name;
  }
  return text;
}

std::string Steps(const std::vector<Domain>& wanted,
                  const std::vector<Found>& found,
                  const ModesBefore& modes = {},
                  ComputeModePolicy policy = ComputeModePolicy::kExclusive) {
  return Told(Reconcile(wanted, found, modes, policy, {}).steps);
}

Plan PlanBeside(const Holders& holders,
                const std::vector<Domain>& wanted,
                const std::vector<Found>& found,
                const ModesBefore& modes = {},
                ComputeModePolicy policy = ComputeModePolicy::kExclusive) {
  return Reconcile(wanted, found, modes, policy, holders);
}

Holders SharesOf(const std::string& uuid) {
  return {.shares = {uuid}, .otherwise = {}, .complete = true};
}

TEST(Reconcile, EqualOnesAreKept) {
  EXPECT_EQ(Steps({On("GPU-a"), On("GPU-b")}, {Running(On("GPU-a")), Running(On("GPU-b"))}),
            "keep GPU-a, keep GPU-b");
}

TEST(Reconcile, AChangedLimitRestartsItsOwnDomainAlone) {
  EXPECT_EQ(Steps({On("GPU-a", 25), On("GPU-b")}, {Running(On("GPU-a")), Running(On("GPU-b"))}),
            "keep GPU-b, restart GPU-a");
}

TEST(Reconcile, AChangedDeviceToo) {
  Domain larger = On("GPU-a");
  larger.members[0].memory = model::Bytes(1);
  EXPECT_EQ(Steps({On("GPU-a")}, {Running(larger)}), "restart GPU-a");
  Domain more = On("GPU-a");
  more.members.push_back(On("GPU-b").members[0]);
  more.memory.emplace_back(1);
  EXPECT_EQ(Steps({On("GPU-a")}, {Running(more)}), "restart GPU-a");
}

TEST(Reconcile, ADeadOneStartsAndAnUnknownOneIsReplaced) {
  EXPECT_EQ(Steps({On("GPU-a"), On("GPU-b"), On("GPU-c")},
                  {{.name = "GPU-a", .running = false, .parameters = On("GPU-a")},
                   {.name = "GPU-b", .running = true, .parameters = std::nullopt}}),
            "restart GPU-b, start GPU-a, start GPU-c");
}

TEST(Reconcile, WhatEndsIsFirst) {
  EXPECT_EQ(Steps({On("GPU-b"), On("GPU-c")}, {Running(On("GPU-a")), Running(On("GPU-c"))}),
            "stop GPU-a, keep GPU-c, start GPU-b");
  EXPECT_EQ(Steps({}, {{.name = "GPU-a", .running = false, .parameters = std::nullopt}}),
            "stop GPU-a");
}

TEST(Reconcile, AModeIsRestoredWhereNoDomainNeedsItExclusive) {
  const ModesBefore modes = {{"GPU-a", ComputeMode::kDefault}, {"GPU-b", ComputeMode::kProhibited}};
  EXPECT_EQ(Steps({On("GPU-a")}, {Running(On("GPU-a"))}, modes), "restore mode GPU-b, keep GPU-a");
  const std::vector<Step> steps = Reconcile({}, {}, modes, ComputeModePolicy::kExclusive, {}).steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1], (Step{.kind = Kind::kRestoreMode,
                            .name = "GPU-b",
                            .domain = {},
                            .mode = ComputeMode::kProhibited}));
}

TEST(Reconcile, AndWhereModesAreToStayUnchanged) {
  EXPECT_EQ(Steps({On("GPU-a")}, {Running(On("GPU-a"))}, {{"GPU-a", ComputeMode::kDefault}},
                  ComputeModePolicy::kUnchanged),
            "restore mode GPU-a, keep GPU-a");
}

TEST(Reconcile, ADomainThatIsHeldStaysAlsoWhenItIsNotWanted) {
  const ModesBefore modes = {{"GPU-a", ComputeMode::kDefault}, {"GPU-b", ComputeMode::kDefault}};
  const Plan plan =
      PlanBeside(SharesOf("GPU-a"), {}, {Running(On("GPU-a")), Running(On("GPU-b"))}, modes);
  EXPECT_EQ(Told(plan.steps), "stop GPU-b, restore mode GPU-b, keep GPU-a");
  EXPECT_TRUE(plan.steps.back().held);
  EXPECT_EQ(plan.steps.back().domain, On("GPU-a"));
  EXPECT_EQ(plan.kept, std::vector<Domain>{On("GPU-a")});
}

TEST(Reconcile, AndKeepsItsModeWhateverThePolicyIsBy) {
  const ModesBefore modes = {{"GPU-a", ComputeMode::kDefault}};
  const Plan plan = PlanBeside(SharesOf("GPU-a"), {}, {Running(On("GPU-a"))}, modes,
                               ComputeModePolicy::kUnchanged);
  EXPECT_EQ(Told(plan.steps), "keep GPU-a");
}

TEST(Reconcile, AHeldDomainGetsOtherLimitsWhenItsHoldersHaveGone) {
  const std::vector<Domain> wanted = {On("GPU-a", 25), On("GPU-b", 25)};
  const std::vector<Found> found = {Running(On("GPU-a")), Running(On("GPU-b"))};
  const Plan plan = PlanBeside(SharesOf("GPU-a"), wanted, found);
  EXPECT_EQ(Told(plan.steps), "keep GPU-a, restart GPU-b");
  EXPECT_EQ(plan.steps[0].domain, On("GPU-a"));
  EXPECT_EQ(
      plan.waiting,
      (std::map<std::string, std::string>{
          {"GPU-a", "pods hold shares of it as it was before: it changes when they have gone"}}));
  const Plan after = PlanBeside({}, wanted, found);
  EXPECT_EQ(Told(after.steps), "restart GPU-a, restart GPU-b");
  EXPECT_EQ(after.waiting, (std::map<std::string, std::string>()));
}

TEST(Reconcile, ADomainThatIsHeldAndWantedAsItIsWaitsForNothing) {
  const Plan plan = PlanBeside(SharesOf("GPU-a"), {On("GPU-a")}, {Running(On("GPU-a"))});
  EXPECT_EQ(Told(plan.steps), "keep GPU-a");
  EXPECT_FALSE(plan.steps[0].held);
  EXPECT_EQ(plan.kept, std::vector<Domain>());
  EXPECT_EQ(plan.waiting, (std::map<std::string, std::string>()));
}

TEST(Reconcile, ADomainThatNeedsADeviceOfAHeldOneWaits) {
  Domain both = On("GPU-a");
  both.name = "nvidia.com_gpu";
  both.members.push_back(On("GPU-b").members[0]);
  both.memory.emplace_back(1);
  const Plan plan = PlanBeside(SharesOf("GPU-a"), {On("GPU-b"), On("GPU-c")}, {Running(both)});
  EXPECT_EQ(Told(plan.steps), "keep nvidia.com_gpu, start GPU-c");
  EXPECT_EQ(plan.waiting,
            (std::map<std::string, std::string>{
                {"GPU-b",
                 "GPU-b is in MPS domain nvidia.com_gpu, of which pods hold shares: it begins when "
                 "they have gone"}}));
}

TEST(Reconcile, AHeldDomainWhoseDaemonDiedStartsAsItWas) {
  Found dead = Running(On("GPU-a"));
  dead.running = false;
  const Plan plan = PlanBeside(SharesOf("GPU-a"), {On("GPU-a", 25)}, {dead});
  ASSERT_EQ(Told(plan.steps), "start GPU-a");
  EXPECT_EQ(plan.steps[0].domain, On("GPU-a"));
}

TEST(Reconcile, WhileHoldersAreNotKnownNobodyIsEnded) {
  const Holders unknown{.shares = {}, .otherwise = {}, .complete = false};
  Found dead = Running(On("GPU-b"));
  dead.running = false;
  const Plan plan = PlanBeside(unknown, {On("GPU-c")}, {Running(On("GPU-a")), dead});
  EXPECT_EQ(Told(plan.steps), "stop GPU-b, keep GPU-a, start GPU-c");
}

TEST(Reconcile, ADeviceThatSomebodyHasOtherwiseIsNotMadeExclusiveUnderHim) {
  Holders holders;
  holders.otherwise = {"GPU-a"};
  const Plan plan = PlanBeside(holders, {On("GPU-a"), On("GPU-b")}, {});
  EXPECT_EQ(Told(plan.steps), "start GPU-b");
  EXPECT_EQ(plan.waiting,
            (std::map<std::string, std::string>{
                {"GPU-a",
                 "a pod holds a device of it whole or as a time-slice: it begins when that has "
                 "gone"}}));
  // A daemon that runs there as it is wanted disturbs nobody who is there beside it.
  EXPECT_EQ(Told(PlanBeside(holders, {On("GPU-a")}, {Running(On("GPU-a"))}).steps), "keep GPU-a");
}

TEST(ExclusiveGpus, AreWholeOnes) {
  EXPECT_EQ(ExclusiveGpus({On("GPU-a"), On("MIG-a")}, ComputeModePolicy::kExclusive),
            std::vector<std::string>{"GPU-a"});
  EXPECT_EQ(ExclusiveGpus({On("GPU-a")}, ComputeModePolicy::kUnchanged),
            std::vector<std::string>());
}

}  // namespace
}  // namespace partita::service::mps
