#include "service/ledger/ledger.h"

#include <sys/stat.h>

#include "base/files.h"
#include "service/ledger/testing/machine.h"
#include "service/ledger/testing/recorded_disk.h"
#include "service/ledger/testing/scratch.h"

namespace partita::service::ledger {
namespace {

using testing::At;

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() { testing::LayOut(machine_, 1, {{9, {0, 4}, {{0, 4}}}}); }

  Ledger Opened(const std::string& boot = "b-1") {
    base::Result<Ledger::Opened> opened = Ledger::Open({scratch_.path()});
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().ToString());
    warnings_ = opened->warnings;
    findings_ = opened->ledger.Settle(machine_, boot, {}, At(0));
    return std::move(opened->ledger);
  }
  [[nodiscard]] Device Gpu(std::size_t i) const { return testing::GpuAt(machine_, i); }
  static void Offer(Ledger& ledger, const Device& device, Via via) {
    EXPECT_TRUE(ledger.ChangeOffer(BoardOf(device), via, At(0)).ok());
    EXPECT_TRUE(ledger.PublishOffers(At(0)).ok());
  }
  ClaimRequest Request(const std::string& uid, const Device& device) {
    return {{uid, "default", uid}, {{device}}, At(1)};
  }
  std::string File(const std::string& name) { return scratch_.path() + "/" + name; }

  const Owner pod_ = Pod{"", "", "", "nvidia.com/gpu"};
  testing::Scratch scratch_;
  model::Inventory machine_ = testing::Machine(3);
  std::vector<std::string> warnings_;
  std::vector<Finding> findings_;
};

TEST_F(LedgerTest, AnswersNothingBeforeItWasCompared) {
  base::Result<Ledger::Opened> opened = Ledger::Open({scratch_.path()});
  ASSERT_TRUE(opened.ok());
  const auto early = opened->ledger.Reserve({pod_, {Gpu(0)}}, At(0));
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code(), base::ErrorCode::kUnavailable);
}

TEST_F(LedgerTest, KeepsAllAtOnceAndSyncsWhatPodsHoldAMomentLater) {
  {
    Ledger ledger = Opened();
    Offer(ledger, Gpu(0), Via::kDra);
    EXPECT_FALSE(ledger.FlushDue());
    ASSERT_TRUE(ledger.Reserve({pod_, {Gpu(1)}}, At(10)).ok());
    EXPECT_EQ(ledger.FlushDue(), At(10) + kWriteBehind);
    ASSERT_TRUE(ledger.Reserve({pod_, {Gpu(2)}}, At(11)).ok());
    EXPECT_EQ(ledger.FlushDue(), At(10) + kWriteBehind) << "that of the first";
    ASSERT_TRUE(ledger.StartClaim(Request("u", Gpu(0)), At(12)).ok());
    EXPECT_FALSE(ledger.FlushDue()) << "what came before it went with it";
    ASSERT_TRUE(ledger.Release(Gpu(1), pod_, At(13)).ok());
  }
  {
    Ledger ledger = Opened();
    EXPECT_EQ(ledger.state().claims.count("u"), 1U);
    EXPECT_EQ(ledger.state().holds.size(), 1U) << "a killed program loses nothing";
    ASSERT_TRUE(ledger.Reserve({pod_, {Gpu(1)}}, At(14)).ok());
  }
  EXPECT_EQ(Opened().state().holds.size(), 2U);
}

TEST_F(LedgerTest, AfterARebootVoidsClaims) {
  {
    Ledger ledger = Opened();
    Offer(ledger, Gpu(0), Via::kDra);
    ASSERT_TRUE(ledger.StartClaim(Request("u", Gpu(0)), At(12)).ok());
    ASSERT_TRUE(ledger.Reserve({pod_, {Gpu(1)}}, At(10)).ok());
    ASSERT_TRUE(ledger.Flush(At(10)).ok());
  }
  const Ledger ledger = Opened("b-2");
  EXPECT_TRUE(ledger.state().claims.empty());
  EXPECT_EQ(ledger.state().holds.size(), 1U);
  ASSERT_EQ(findings_.size(), 1U);
  EXPECT_EQ(findings_[0].text, "claim default/u (u) is void since the reboot");
}

TEST_F(LedgerTest, RefusesAClaimThatCannotBeWrittenAndChangesNothing) {
  Ledger ledger = Opened();
  Offer(ledger, Gpu(0), Via::kDra);
  const State before = ledger.state();
  testing::FailStep(0);
  const auto refused = ledger.StartClaim(Request("u", Gpu(0)), At(12));
  testing::FailNoStep();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kIo);
  EXPECT_EQ(refused.error().frames().front(),
            "nothing was changed, because it could not be written down");
  EXPECT_EQ(ledger.state(), before);
  ASSERT_TRUE(ledger.StartClaim(Request("u", Gpu(0)), At(12)).ok());
}

TEST_F(LedgerTest, GivesAPodItsDeviceWithAWarningWhenTheDiskIsFull) {
  Ledger ledger = Opened();
  ASSERT_TRUE(ledger.Flush(At(0)).ok());
  auto given = ledger.Reserve({pod_, {Gpu(0)}}, At(1));
  ASSERT_TRUE(given.ok());
  EXPECT_FALSE(given->warning);
  ASSERT_TRUE(ledger.Flush(At(1)).ok());
  testing::FailStep(0);
  given = ledger.Reserve({pod_, {Gpu(2)}}, At(2));
  testing::FailStep(0);
  EXPECT_FALSE(ledger.Flush(At(3)).ok());
  testing::FailNoStep();
  ASSERT_TRUE(given.ok());
  EXPECT_TRUE(given->warning);
  EXPECT_EQ(ledger.FlushDue(), At(3) + kWriteBehind) << "tried again";
  ASSERT_TRUE(ledger.Flush(At(4)).ok());
  given = ledger.Reserve({pod_, {Gpu(0)}}, At(5));
  EXPECT_FALSE(given->warning);
  EXPECT_EQ(Opened().state().holds.size(), 2U);
}

TEST_F(LedgerTest, FlushesInTwoHalves) {
  Ledger ledger = Opened();
  ASSERT_TRUE(ledger.Reserve({pod_, {Gpu(0)}}, At(1)).ok());
  testing::StartRecording();
  base::Result<Journal::Sync> sync = ledger.BeginFlush(At(2));
  for (const testing::DiskStep& step : testing::StopRecording())
    EXPECT_EQ(step.step, testing::Step::kWrite) << "nothing waits for the disk";
  ASSERT_TRUE(sync.ok());
  ASSERT_TRUE(*sync);
  EXPECT_FALSE(ledger.FlushDue());
  EXPECT_EQ(Opened().state().holds.size(), 1U) << "a killed program loses nothing of it";
  testing::StartRecording();
  ledger.EndFlush((*sync)(), At(3));
  const std::vector<testing::DiskStep> steps = testing::StopRecording();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].step, testing::Step::kSyncFile);
  EXPECT_FALSE(ledger.FlushDue());
  ASSERT_TRUE(ledger.BeginFlush(At(4)).ok());
  EXPECT_FALSE(*ledger.BeginFlush(At(4))) << "nothing is left to do";
}

TEST_F(LedgerTest, WritesAllAnewWhereTheSecondHalfFails) {
  Ledger ledger = Opened();
  ASSERT_TRUE(ledger.Reserve({pod_, {Gpu(0)}}, At(1)).ok());
  base::Result<Journal::Sync> sync = ledger.BeginFlush(At(2));
  ASSERT_TRUE(sync.ok());
  testing::FailStep(0);
  ledger.EndFlush((*sync)(), At(3));
  testing::FailNoStep();
  EXPECT_EQ(ledger.FlushDue(), At(3) + kWriteBehind);
  const auto given = ledger.Reserve({pod_, {Gpu(2)}}, At(3));
  ASSERT_TRUE(given.ok());
  EXPECT_TRUE(given->warning);
  ASSERT_TRUE(ledger.BeginFlush(At(4)).ok());
  EXPECT_FALSE(ledger.FlushDue());
  EXPECT_EQ(base::ReadFile(File("ledger.journal")).value(), "") << "folded";
  EXPECT_EQ(Opened().state().holds.size(), 2U);
}

TEST_F(LedgerTest, WaitsForNoDiskWhereNothingIsNew) {
  {
    Ledger ledger = Opened();
    Offer(ledger, Gpu(0), Via::kDra);
  }
  testing::StartRecording();
  (void)Opened();
  for (const testing::DiskStep& step : testing::StopRecording())
    EXPECT_EQ(step.step, testing::Step::kCreate) << "opened, and nothing more";
}

TEST_F(LedgerTest, CutsATornTailAndSaysSo) {
  {
    Ledger ledger = Opened();
    Offer(ledger, Gpu(0), Via::kDra);
  }
  const std::string whole = base::ReadFile(File("ledger.journal")).value();
  ASSERT_TRUE(base::WriteFile(File("ledger.journal"), whole + "1 99 5000 abc {\"cha", 0600).ok());
  Ledger ledger = Opened();
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_EQ(warnings_[0], File("ledger.journal") +
                              ": the last 19 bytes were not a whole record and were cut off");
  EXPECT_EQ(base::ReadFile(File("ledger.journal.bak")).value(), whole);
  EXPECT_EQ(ledger.state().offers.size(), 1U);
}

TEST_F(LedgerTest, KeepsWhatFollowsDamageAndACopyOfIt) {
  {
    Ledger ledger = Opened();
    Offer(ledger, Gpu(0), Via::kDra);
    Offer(ledger, Gpu(2), Via::kNone);
  }
  std::string bytes = base::ReadFile(File("ledger.journal")).value();
  bytes[bytes.find("GPU-0", bytes.find("offer"))] = 'X';
  ASSERT_TRUE(base::WriteFile(File("ledger.journal"), bytes, 0600).ok());
  const Ledger ledger = Opened();
  ASSERT_EQ(warnings_.size(), 2U);
  EXPECT_EQ(warnings_[0], File("ledger.journal") + ": records 2 to 2 are missing");
  EXPECT_EQ(base::ReadFile(File("ledger.journal.damaged")).value(), bytes);
  EXPECT_EQ(ledger.state().offers.at("GPU-2").via, Via::kNone);
}

TEST_F(LedgerTest, TellsOfDamageOnce) {
  {
    Ledger ledger = Opened();
    Offer(ledger, Gpu(0), Via::kDra);
    Offer(ledger, Gpu(2), Via::kNone);
  }
  std::string bytes = base::ReadFile(File("ledger.journal")).value();
  bytes[bytes.find("GPU-0", bytes.find("offer"))] = 'X';
  ASSERT_TRUE(base::WriteFile(File("ledger.journal"), bytes, 0600).ok());
  const State left = Opened().state();
  ASSERT_FALSE(warnings_.empty());
  EXPECT_EQ(Opened().state(), left);
  EXPECT_EQ(warnings_, std::vector<std::string>());
  EXPECT_EQ(base::ReadFile(File("ledger.journal.damaged")).value(), bytes)
      << "for whoever mends it";
}

TEST_F(LedgerTest, DoesWithoutADamagedStateFile) {
  State last;
  {
    base::Result<Ledger::Opened> opened = Ledger::Open({scratch_.path(), 1000});
    Ledger ledger = std::move(opened->ledger);
    (void)ledger.Settle(machine_, "b-1", {}, At(0));
    for (int i = 0; i < 20; ++i)
      Offer(ledger, Gpu(static_cast<std::size_t>(i % 3)), i % 2 == 0 ? Via::kDra : Via::kVm);
    last = ledger.state();
  }
  ASSERT_TRUE(base::Exists(File("ledger.json.bak")));
  ASSERT_TRUE(base::WriteFile(File("ledger.json"), "rubbish", 0600).ok());
  const Ledger ledger = Opened();
  EXPECT_EQ(warnings_, std::vector<std::string>{File("ledger.json") + " was damaged and is now " +
                                                File("ledger.json.damaged")});
  EXPECT_EQ(ledger.state(), last) << "the older state and both journals add up";
  EXPECT_TRUE(base::ReadFile(File("ledger.json")).value().starts_with("partita-ledger 1 sha256="));
}

TEST_F(LedgerTest, KeepsItsFilesToItself) {
  Ledger ledger = Opened();
  struct stat about = {};
  ASSERT_EQ(stat(File("ledger.journal").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

}  // namespace
}  // namespace partita::service::ledger
