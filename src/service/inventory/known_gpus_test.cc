#include "service/inventory/known_gpus.h"

#include <utility>

#include <gtest/gtest.h>

namespace partita::service::inventory {
namespace {

using hw::nvml::GpuAnswer;
using hw::nvml::Part;
using hw::nvml::Parts;

const model::PciAddress kFirst{.bus = 7};
const model::PciAddress kSecond{.bus = 0xf};

Time At(int seconds) { return Time(std::chrono::seconds(seconds)); }

model::Gpu Gpu(const model::PciAddress& pci, const std::string& uuid) {
  model::Gpu gpu;
  gpu.pci = pci;
  gpu.index = model::GpuIndex(0);
  gpu.uuid = model::GpuUuid(uuid);
  gpu.name = "NVIDIA A100-SXM4-40GB";
  gpu.mig.emplace();
  gpu.mig->profiles.emplace_back();
  gpu.readings.temperature = model::Celsius(30);
  return gpu;
}

// As the driver answers: handle and these parts of `gpu`.
GpuAnswer Answer(const model::Gpu& gpu, std::initializer_list<Part> parts) {
  GpuAnswer answer;
  answer.handle = hw::nvml::DeviceHandle{.generation = 1};
  for (const Part part : parts) answer.parts.push_back({part, gpu, {}, {}});
  return answer;
}
constexpr std::initializer_list<Part> kShape = {Part::kIdentity, Part::kModes, Part::kInstances};

const model::Fault kHung{model::FaultKind::kHung, "a call did not come back"};

class KnownGpusTest : public ::testing::Test {
 protected:
  KnownGpusTest() { known_.OnBus({kFirst, kSecond}); }
  [[nodiscard]] const model::Gpu& Of(const model::PciAddress& pci) {
    facts_ = known_.Facts();
    for (const model::Gpu& gpu : facts_.gpus) {
      if (gpu.pci == pci) return gpu;
    }
    ADD_FAILURE() << "no GPU " << pci.ToString();
    return facts_.gpus.front();
  }
  KnownGpus known_;
  hw::nvml::Facts facts_;
};

TEST_F(KnownGpusTest, AsksOnceForWhatCannotChange) {
  EXPECT_EQ(known_.Question(kFirst, {Part::kModes}).parts, Parts(kShape));
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  const hw::nvml::GpuQuestion question = known_.Question(kFirst, {Part::kModes});
  EXPECT_EQ(question.parts, Parts({Part::kModes}));
  EXPECT_TRUE(question.handle.has_value());
  EXPECT_EQ(question.known.mig->profiles.size(), 1U);
  // The other was not read by that.
  EXPECT_EQ(known_.Question(kSecond, {}).parts, Parts(kShape));
}

// Seen on the test bench: a program with memory in a slice had ended, and still kept the slice from
// being healthy, as somebody whom nobody can see.
TEST_F(KnownGpusTest, WhoHoldsSlicesIsAskedWithTheMemoryOfTheSlices) {
  model::Gpu gpu = Gpu(kFirst, "GPU-1");
  known_.Absorb(kFirst, Answer(gpu, kShape), At(1));
  EXPECT_EQ(known_.Question(kFirst, {Part::kHolders}).parts, Parts({Part::kHolders}));
  gpu.mig->instances.emplace_back();
  known_.Absorb(kFirst, Answer(gpu, kShape), At(2));
  EXPECT_EQ(known_.Question(kFirst, {Part::kHolders}).parts,
            Parts({Part::kHolders, Part::kInstances}));
  EXPECT_EQ(known_.Question(kFirst, {Part::kModes}).parts, Parts({Part::kModes}));
}

TEST_F(KnownGpusTest, ANewSessionIsAskedForEverythingAndItsOwnProfiles) {
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  known_.NewSession();
  const hw::nvml::GpuQuestion question = known_.Question(kFirst, {Part::kModes});
  EXPECT_EQ(question.parts, Parts(kShape));
  EXPECT_FALSE(question.handle.has_value());
  EXPECT_TRUE(question.known.mig->profiles.empty());
  EXPECT_TRUE(known_.stale().empty());
}

TEST(KnownGpus, TwoNeverHaveOneIndex) {
  const model::GpuIndex zero(0);
  KnownGpus known({{kFirst, model::GpuUuid("GPU-1"), "A100", zero, std::nullopt},
                   {kSecond, model::GpuUuid("GPU-2"), "A100", zero, std::nullopt}});
  known.OnBus({kFirst, kSecond});
  const auto index = [&](std::size_t gpu) { return known.Facts().gpus.at(gpu).index; };
  EXPECT_EQ(index(0), zero);
  EXPECT_EQ(index(1), std::nullopt);
  // What is heard holds against what is remembered.
  known.Absorb(kSecond, Answer(Gpu(kSecond, "GPU-2"), kShape), At(1));
  EXPECT_EQ(index(0), std::nullopt);
  EXPECT_EQ(index(1), zero);
}

TEST_F(KnownGpusTest, TheDriverCountsWithoutWhatItDoesNotList) {
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  EXPECT_FALSE(known_.AnyUnlisted());
  known_.NewSession();
  GpuAnswer missing;
  missing.fault = model::Fault{model::FaultKind::kMissing, "not listed"};
  known_.Absorb(kFirst, missing, At(2));
  EXPECT_TRUE(known_.AnyUnlisted());
  EXPECT_EQ(Of(kFirst).index, std::nullopt);
  EXPECT_EQ(Of(kFirst).uuid, model::GpuUuid("GPU-1"));
}

TEST_F(KnownGpusTest, OneThatSaysNothingOfItselfIsNobodysPeer) {
  model::Gpu silent = Gpu(kFirst, "GPU-1");
  silent.uuid.reset();
  known_.Absorb(kFirst, Answer(silent, kShape), At(1));
  known_.Absorb(kSecond, Answer(Gpu(kSecond, "GPU-2"), kShape), At(1));
  ASSERT_EQ(known_.Peers().size(), 1U) << "its links would be those of a board that nobody knows";
  EXPECT_EQ(known_.Peers()[0].pci, kSecond);
}

TEST_F(KnownGpusTest, OneThatDoesNotAnswerIsShownAsItWasWithItsAge) {
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), {Part::kReadings}), At(5));
  known_.Unanswered(kFirst, kHung);
  EXPECT_EQ(Of(kFirst).uuid, model::GpuUuid("GPU-1"));
  EXPECT_EQ(Of(kFirst).readings.temperature, model::Celsius(30));
  EXPECT_EQ(Of(kFirst).faults, std::vector{kHung});
  EXPECT_EQ(known_.stale(), (std::map<model::PciAddress, Stale>{{kFirst, {At(5), kHung.text}}}));

  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(9));
  EXPECT_TRUE(Of(kFirst).faults.empty());
  EXPECT_TRUE(known_.stale().empty());
}

TEST_F(KnownGpusTest, WhatWasReadBeforeAHangCounts) {
  model::Gpu gpu = Gpu(kFirst, "GPU-1");
  known_.Absorb(kFirst, Answer(gpu, {Part::kIdentity}), At(1));
  known_.Unanswered(kFirst, kHung);
  EXPECT_EQ(Of(kFirst).uuid, model::GpuUuid("GPU-1"));
  EXPECT_EQ(known_.Question(kFirst, {}).parts, Parts(kShape));
}

TEST_F(KnownGpusTest, OneThatLeftTheBusStaysWithAFaultAndComesBackAsItself) {
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  known_.OnBus({kSecond});
  EXPECT_EQ(Of(kFirst).uuid, model::GpuUuid("GPU-1"));
  EXPECT_EQ(Of(kFirst).faults.at(0).kind, model::FaultKind::kLost);
  EXPECT_EQ(known_.addresses(), std::vector{kSecond});
  // Which is another's by now.
  EXPECT_FALSE(Of(kFirst).index.has_value());

  known_.OnBus({kFirst, kSecond});
  EXPECT_EQ(known_.Question(kFirst, {}).parts, Parts(kShape));
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(9));
  EXPECT_TRUE(Of(kFirst).faults.empty());
}

TEST_F(KnownGpusTest, AnotherBoardInTheSlotInheritsNothing) {
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), {Part::kReadings}), At(1));
  known_.OnBus({kSecond});
  known_.OnBus({kFirst, kSecond});
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-2"), kShape), At(2));
  EXPECT_EQ(Of(kFirst).uuid, model::GpuUuid("GPU-2"));
  EXPECT_FALSE(Of(kFirst).readings.temperature.has_value());
}

TEST_F(KnownGpusTest, ALostOneKeepsItsNameAndAge) {
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  GpuAnswer lost = Answer({}, {Part::kModes});
  lost.parts[0].faults.push_back({model::FaultKind::kLost, "fell off the bus"});
  known_.Absorb(kFirst, lost, At(7));
  EXPECT_EQ(Of(kFirst).uuid, model::GpuUuid("GPU-1"));
  EXPECT_EQ(Of(kFirst).faults, lost.parts[0].faults);
  EXPECT_EQ(known_.stale().at(kFirst), (Stale{At(1), "fell off the bus"}));
  EXPECT_TRUE(Of(kFirst).mig.has_value());
}

TEST_F(KnownGpusTest, FaultsOfAPartGoWithItsNextAnswer) {
  GpuAnswer answer = Answer(Gpu(kFirst, "GPU-1"), kShape);
  answer.parts[1].faults.push_back({model::FaultKind::kRecoveryAction, "reset it"});
  known_.Absorb(kFirst, answer, At(1));
  EXPECT_EQ(Of(kFirst).faults.size(), 1U);
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), {Part::kReadings}), At(2));
  EXPECT_EQ(Of(kFirst).faults.size(), 1U);
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), {Part::kModes}), At(3));
  EXPECT_TRUE(Of(kFirst).faults.empty());
}

TEST_F(KnownGpusTest, AnAnswerOfASessionThatIsOverChangesNothing) {
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  GpuAnswer over;
  over.session_lost = true;
  known_.Absorb(kFirst, over, At(2));
  EXPECT_EQ(Of(kFirst).uuid, model::GpuUuid("GPU-1"));
  EXPECT_TRUE(known_.stale().empty());
}

TEST_F(KnownGpusTest, AListOfHoldersThatWasNotReadIsNotAnEmptyOne) {
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  EXPECT_TRUE(Of(kFirst).processes_error.has_value());
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), {Part::kHolders}), At(1));
  EXPECT_FALSE(Of(kFirst).processes_error.has_value());
  known_.NewSession();
  EXPECT_TRUE(Of(kFirst).processes_error.has_value());
}

TEST_F(KnownGpusTest, RemembersNamesForTheNextLife) {
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  const KnownGpus next(known_.ToRemember());
  ASSERT_EQ(next.Facts().gpus.size(), 1U);
  EXPECT_EQ(next.Facts().gpus[0].uuid, model::GpuUuid("GPU-1"));
  EXPECT_EQ(next.stale().count(kFirst), 1U);
  EXPECT_EQ(next.Question(kFirst, {}).parts, Parts(kShape));
}

TEST_F(KnownGpusTest, OneThatWasNotReadInThisLifeIsNotOneWithoutMig) {
  known_.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(1));
  EXPECT_FALSE(Of(kFirst).mig_error.has_value());
  KnownGpus next(known_.ToRemember());
  next.OnBus({kFirst});
  ASSERT_TRUE(next.Facts().gpus[0].mig_error.has_value());
  EXPECT_EQ(next.Facts().gpus[0].mig_error->ToString(), "it was not read yet");
  next.Absorb(kFirst, Answer(Gpu(kFirst, "GPU-1"), kShape), At(2));
  EXPECT_FALSE(next.Facts().gpus[0].mig_error.has_value());
}

}  // namespace
}  // namespace partita::service::inventory
