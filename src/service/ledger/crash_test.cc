// Killed, or without power, at every change to a file: what was promised is there, and nothing is
// there by half. And every such change failing once.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "service/ledger/ledger.h"
#include "service/ledger/testing/machine.h"
#include "service/ledger/testing/recorded_disk.h"
#include "service/ledger/testing/scratch.h"

namespace partita::service::ledger {
namespace {

using testing::At;
using testing::DiskStep;
using testing::Kept;

// Small enough that the journal is folded a few times in one run of the script.
constexpr std::size_t kFoldAt = 3000;

// The ledger's state after one call, and which steps of the disk the call took.
struct Moment {
  State state;
  bool durable = false;  // everything so far is promised
  std::size_t begin = 0, end = 0;
};

// A day in little: every verb, some of them refused, some written behind.
class Script {
 public:
  explicit Script(const std::string& directory) {
    testing::LayOut(machine_, 1, {{9, {0, 4}, {{0, 4}}}, {9, {4, 4}, {{0, 4}}}});
    base::Result<Ledger::Opened> opened = Ledger::Open({directory, kFoldAt});
    if (!opened.ok()) return;
    ledger_.emplace(std::move(opened->ledger));
    Note([&] { (void)ledger_->Settle(machine_, "b-1", {}, At(0)); });
  }

  void Run() {
    if (!ledger_) return;
    const Device gpu0 = testing::GpuAt(machine_, 0);
    const Device slice = testing::MigAt(machine_, 1, 0);
    const Owner pod = Pod{"", "", "", "nvidia.com/gpu"};
    const Owner named = Pod{"default", "train", "main", "nvidia.com/gpu"};
    Note([&] { Check(ledger_->ChangeOffer(BoardOf(gpu0), Via::kDra, At(1))); });
    Note([&] { Check(ledger_->PublishOffers(At(1))); });
    for (int round = 0; round < 6; ++round) {
      const std::string uid = "u" + std::to_string(round);
      const Time now = At(10 * round + 2);
      Note([&] { Check(ledger_->Reserve({pod, {slice}}, now)); });
      Note([&] { Check(ledger_->StartClaim({{uid, "n", uid}, {{gpu0}}, now}, now)); });
      const auto claim = ledger_->state().claims.find(uid);
      const std::uint64_t attempt =
          claim == ledger_->state().claims.end() ? 0 : claim->second.attempt;
      Note([&] { Check(ledger_->Bind(slice, named, now)); });
      Note([&] { Check(ledger_->CompleteClaim(uid, attempt, {{gpu0}}, now)); });
      Note([&] { Check(ledger_->Withdraw("p" + uid, {slice}, now)); });
      Note([&] { Check(ledger_->Release(slice, named, now)); });
      Note([&] { Check(ledger_->Lock("p" + uid, now)); });
      Note([&] { (void)ledger_->Flush(now); });
      Note([&] { Check(ledger_->StartRelease(uid, now)); });
      Note([&] { Check(ledger_->EndPlan("p" + uid, now)); });
      Note([&] { Check(ledger_->Observe(machine_, {}, now)); });
      Note([&] { Check(ledger_->FinishRelease(uid, now)); });
    }
    Note([&] { (void)ledger_->Sweep(At(10000)); });
  }

  [[nodiscard]] const std::vector<Moment>& moments() const { return moments_; }
  [[nodiscard]] std::optional<Ledger>& ledger() { return ledger_; }
  [[nodiscard]] const model::Inventory& machine() const { return machine_; }
  [[nodiscard]] std::size_t refused() const { return refused_; }

 private:
  template <typename Call>
  void Note(Call call) {
    Moment moment;
    moment.begin = testing::RecordedSteps();
    const State before = ledger_->state();
    failed_ = false;
    call();
    EXPECT_TRUE(!failed_ || ledger_->state() == before) << "a refused call changed something";
    moment.end = testing::RecordedSteps();
    moment.state = ledger_->state();
    moment.durable = !ledger_->FlushDue();
    moments_.push_back(std::move(moment));
  }
  void Check(const base::Result<Receipt>& result) {
    if (result.ok()) return;
    ++refused_;
    failed_ = true;
  }

  model::Inventory machine_ = testing::Machine(2);
  std::optional<Ledger> ledger_;
  std::vector<Moment> moments_;
  std::size_t refused_ = 0;
  bool failed_ = false;
};

void PutFiles(const std::string& directory, const std::map<std::string, std::string>& files) {
  const std::vector<std::string> old = base::ListDirectory(directory).value();
  for (const std::string& name : old)
    ASSERT_TRUE(base::RemoveTree(base::JoinPath(directory, name)).ok());
  for (const auto& [name, bytes] : files)
    ASSERT_TRUE(base::WriteFile(base::JoinPath(directory, name), bytes, 0600).ok());
}

// What is read must be the state after some call: none that ended durably is missing, none that had
// not begun is there, and none is there by half.
bool IsOneOf(const std::vector<Moment>& moments, std::size_t steps, const State& read) {
  std::size_t first = 0;
  bool promised = false;
  for (std::size_t i = 0; i < moments.size(); ++i)
    if (moments[i].durable && moments[i].end <= steps) {
      first = i;
      promised = true;
    }
  if (!promised && read == State()) return true;
  for (std::size_t i = first; i < moments.size() && moments[i].begin <= steps; ++i)
    if (moments[i].state == read) return true;
  return false;
}

TEST(LedgerCrash, AtEveryStepOfTheDiskLeavesAWholeState) {
  const testing::Scratch origin;
  testing::StartRecording();
  Script script(origin.path());
  script.Run();
  const std::vector<DiskStep> steps = testing::StopRecording();
  ASSERT_EQ(script.refused(), 0U);
  ASSERT_GT(steps.size(), 150U);
  ASSERT_GT(std::count_if(steps.begin(), steps.end(),
                          [](const DiskStep& s) { return s.to == "ledger.json"; }),
            3)
      << "folded a few times";

  const testing::Scratch scratch;
  testing::SkipSyncs(true);
  std::size_t tried = 0;
  for (std::size_t count = 0; count <= steps.size(); ++count) {
    std::vector<std::size_t> partials = {0};
    if (count < steps.size() && steps[count].step == testing::Step::kWrite) {
      const std::size_t size = steps[count].bytes.size();
      partials = {0, 1, size / 3, size / 2, size - 1};
    }
    for (const std::size_t partial : partials) {
      for (const Kept kept : {Kept::kAll, Kept::kNothing, Kept::kNamesOnly, Kept::kBytesOnly}) {
        PutFiles(scratch.path(), FilesAfter(steps, count, partial, kept));
        const base::Result<Ledger::Opened> opened = Ledger::Open({scratch.path(), kFoldAt});
        ASSERT_TRUE(opened.ok()) << opened.error().ToString();
        ASSERT_TRUE(IsOneOf(script.moments(), count, opened->ledger.state()))
            << "after " << count << " steps and " << partial << " bytes, kept "
            << static_cast<int>(kept);
        ++tried;
      }
    }
  }
  testing::SkipSyncs(false);
  RecordProperty("stops", static_cast<int>(tried));
}

// A second stop, while the first is being mended, and a life afterwards.
TEST(LedgerCrash, WhileOpeningLeavesAWholeStateToo) {
  const testing::Scratch origin;
  testing::StartRecording();
  Script script(origin.path());
  script.Run();
  const std::vector<DiskStep> steps = testing::StopRecording();
  const testing::Scratch scratch;
  testing::SkipSyncs(true);
  for (std::size_t count = 0; count <= steps.size(); count += 7) {
    const std::size_t half = count < steps.size() ? steps[count].bytes.size() / 2 : 0;
    PutFiles(scratch.path(), FilesAfter(steps, count, half, Kept::kAll));
    for (std::size_t fail = 0; fail < 6; ++fail) {
      testing::FailStep(fail);
      (void)Ledger::Open({scratch.path(), kFoldAt});
      testing::FailNoStep();
    }
    base::Result<Ledger::Opened> opened = Ledger::Open({scratch.path(), kFoldAt});
    ASSERT_TRUE(opened.ok());
    ASSERT_TRUE(IsOneOf(script.moments(), count, opened->ledger.state())) << count;
    (void)opened->ledger.Settle(script.machine(), "b-2", {}, At(0));
    ASSERT_TRUE(opened->ledger.ChangeOffer(Board("GPU-9"), Via::kNone, At(1)).ok());
    const base::Result<Ledger::Opened> again = Ledger::Open({scratch.path(), kFoldAt});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->ledger.state(), opened->ledger.state());
    EXPECT_TRUE(again->warnings.empty()) << again->warnings.front();
  }
  testing::SkipSyncs(false);
}

TEST(LedgerCrash, EveryStepOfTheDiskMayFailOnce) {
  testing::SkipSyncs(true);
  std::size_t refused = 0;
  for (std::size_t fail = 0; fail < 400; ++fail) {
    const testing::Scratch scratch;
    testing::FailStep(fail);
    Script script(scratch.path());
    script.Run();
    testing::FailNoStep();
    refused += script.refused();
    if (!script.ledger()) continue;
    ASSERT_TRUE(script.ledger()->Flush(At(20000)).ok()) << fail;
    const base::Result<Ledger::Opened> again = Ledger::Open({scratch.path(), kFoldAt});
    ASSERT_TRUE(again.ok()) << fail;
    EXPECT_EQ(again->ledger.state(), script.ledger()->state()) << "failed step " << fail;
    EXPECT_TRUE(again->warnings.empty()) << fail << ": " << again->warnings.front();
  }
  EXPECT_GT(refused, 20U) << "some of them were felt";
  testing::SkipSyncs(false);
}

}  // namespace
}  // namespace partita::service::ledger
