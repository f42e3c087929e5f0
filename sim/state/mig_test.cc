#include "sim/state/mig.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/state/sha1.h"
#include "sim/state/test_node.h"

namespace partita::sim {
namespace {

constexpr uint32_t k1g = 0, k2g = 1, k3g = 2, k4g = 3, k7g = 4, k1gMe = 7, k1gDouble = 9;

class Trial {
 public:
  explicit Trial(std::string_view profile, uint32_t gpu = 0)
      : loaded_(LoadProfile(profile)), board_(loaded_.machine->boards[gpu]) {}

  const Board& board() const { return board_; }
  Board& board() { return board_; }
  Gpu& gpu() { return gpu_; }

  const GiProfile& Profile(uint32_t constant) const { return *FindGiProfile(board_, constant); }

  // The start of the instance made, or -1.
  int Create(uint32_t constant, uint32_t start = kNone) {
    uint32_t id = 0;
    if (CreateGpuInstance(board_, gpu_, Profile(constant), start, 1, &id) != MigStatus::kDone) {
      return -1;
    }
    return static_cast<int>(gpu_.instances[id].start);
  }

  std::vector<int> CreateAll(const std::vector<uint32_t>& constants) {
    std::vector<int> starts;
    starts.reserve(constants.size());
    for (const uint32_t constant : constants) starts.push_back(Create(constant));
    return starts;
  }

 private:
  Loaded loaded_;
  Board board_;
  Gpu gpu_{};
};

// What drivers were seen to choose on A100, H100 and GH200 boards; -1: refused.
TEST(DefaultPlacement, FollowsTheObservedSequences) {
  const struct {
    const char* name;
    const char* profile;
    std::vector<uint32_t> create;
    std::vector<int> starts;
  } cases[] = {
      {"A100 1g 2g 4g", "dgx-a100-40", {k1g, k2g, k4g}, {6, 4, 0}},
      {"A100 3g 1g 2g 1g", "dgx-a100-40", {k3g, k1g, k2g, k1g}, {4, 0, 2, 1}},
      {"A100 2g and five 1g", "dgx-a100-40", {k2g, k1g, k1g, k1g, k1g, k1g}, {4, 6, 0, 1, 2, 3}},
      {"A100 1g 1g 2g 3g", "dgx-a100-40", {k1g, k1g, k2g, k3g}, {6, 4, 0, -1}},
      {"Hopper seven 1g", "h200-vm", {k1g, k1g, k1g, k1g, k1g, k1g, k1g}, {6, 4, 5, 0, 1, 2, 3}},
      {"Hopper 3g 2g", "h200-vm", {k3g, k2g}, {4, 0}},
      {"Hopper double 1g three times", "h200-vm", {k1gDouble, k1gDouble, k1gDouble}, {4, 0, 2}},
      {"4g then 3g", "dgx-a100-40", {k4g, k3g}, {0, 4}},
      {"7g fills it", "dgx-a100-40", {k7g, k1g}, {0, -1}},
  };
  for (const auto& c : cases) {
    Trial trial(c.profile);
    EXPECT_EQ(trial.CreateAll(c.create), c.starts) << c.name;
  }
}

TEST(DefaultPlacement, DoubleMemoryAndOneSliceBesideA3gAtTheLeft) {
  Trial trial("h200-vm");
  ASSERT_EQ(trial.Create(k3g, 0), 0);
  EXPECT_EQ(trial.CreateAll({k1gDouble, k1g}), (std::vector<int>{4, 6}));
}

TEST(CheckPlacement, TellsUnknownPlacesFromTakenOnes) {
  Trial trial("dgx-a100-40");
  EXPECT_EQ(CheckPlacement(trial.board(), trial.gpu(), trial.Profile(k2g), 6),
            MigStatus::kBadPlacement);
  EXPECT_EQ(CheckPlacement(trial.board(), trial.gpu(), trial.Profile(k4g), 4),
            MigStatus::kBadPlacement);
  EXPECT_EQ(CheckPlacement(trial.board(), trial.gpu(), trial.Profile(k1g), 7),
            MigStatus::kBadPlacement);
  ASSERT_EQ(trial.Create(k3g, 0), 0);
  EXPECT_EQ(CheckPlacement(trial.board(), trial.gpu(), trial.Profile(k4g), 0), MigStatus::kNoRoom);
  EXPECT_EQ(CheckPlacement(trial.board(), trial.gpu(), trial.Profile(k1g), 3), MigStatus::kNoRoom);
  EXPECT_EQ(CheckPlacement(trial.board(), trial.gpu(), trial.Profile(k1g), 4), MigStatus::kDone);
}

TEST(CheckPlacement, OneMediaInstancePerGpu) {
  Trial trial("dgx-a100-40");
  EXPECT_EQ(trial.Create(k1gMe), 6);
  EXPECT_EQ(trial.Create(k1gMe), -1);
  EXPECT_EQ(RemainingGpuInstances(trial.board(), trial.gpu(), trial.Profile(k1gMe)), 0U);
  EXPECT_EQ(RemainingGpuInstances(trial.board(), trial.gpu(), trial.Profile(k1g)), 6U);
}

TEST(RemainingGpuInstances, CountsWhatStillFits) {
  Trial trial("h200-vm");
  const auto left = [&](uint32_t constant) {
    return RemainingGpuInstances(trial.board(), trial.gpu(), trial.Profile(constant));
  };
  EXPECT_EQ(left(k1g), 7U);
  EXPECT_EQ(left(k1gDouble), 4U);
  EXPECT_EQ(left(k7g), 1U);
  ASSERT_EQ(trial.Create(k3g, 4), 4);
  EXPECT_EQ(left(k1g), 4U);
  EXPECT_EQ(left(k1gDouble), 2U);
  EXPECT_EQ(left(k2g), 2U);
  EXPECT_EQ(left(k3g), 1U);
  EXPECT_EQ(left(k4g), 1U);
  EXPECT_EQ(left(k7g), 0U);
}

TEST(GpuInstanceIdAt, FollowsBothPublishedNumberings) {
  Trial trial("dgx-a100-40");
  struct Case {
    uint32_t start, size, right_first, left_first;
  };
  const Case cases[] = {{0, 8, 0, 0},  {4, 4, 1, 2},  {0, 4, 2, 1},  {4, 2, 3, 5},  {6, 2, 4, 6},
                        {0, 2, 5, 3},  {2, 2, 6, 4},  {4, 1, 7, 11}, {5, 1, 8, 12}, {6, 1, 9, 13},
                        {0, 1, 11, 7}, {1, 1, 12, 8}, {3, 1, 14, 10}};
  for (const Case& c : cases) {
    trial.board().gi_numbering = GiNumbering::kRightHalfFirst;
    EXPECT_EQ(GpuInstanceIdAt(trial.board(), c.start, c.size), c.right_first)
        << c.start << ":" << c.size;
    trial.board().gi_numbering = GiNumbering::kLeftHalfFirst;
    EXPECT_EQ(GpuInstanceIdAt(trial.board(), c.start, c.size), c.left_first)
        << c.start << ":" << c.size;
  }
}

TEST(ComputeInstances, FillTheirGpuInstance) {
  Trial trial("dgx-a100-40");
  ASSERT_EQ(trial.Create(k3g, 4), 4);
  GpuInstance& gi = trial.gpu().instances[GpuInstanceIdAt(trial.board(), 4, 4)];
  const CiProfile& one = *FindCiProfile(trial.board(), k3g, 0);
  const CiProfile& two = *FindCiProfile(trial.board(), k3g, 1);
  const CiProfile& three = *FindCiProfile(trial.board(), k3g, 2);
  EXPECT_EQ(FindCiProfile(trial.board(), k3g, 3), nullptr);
  uint32_t id = 9;
  ASSERT_EQ(CreateComputeInstance(trial.board(), gi, two, kNone, &id), MigStatus::kDone);
  EXPECT_EQ(id, 0U);
  EXPECT_EQ(RemainingComputeInstances(trial.board(), gi, one), 1U);
  EXPECT_EQ(CreateComputeInstance(trial.board(), gi, three, kNone, &id), MigStatus::kNoRoom);
  EXPECT_EQ(CreateComputeInstance(trial.board(), gi, one, 0, &id), MigStatus::kNoRoom);
  EXPECT_EQ(CreateComputeInstance(trial.board(), gi, one, 7, &id), MigStatus::kBadPlacement);
  ASSERT_EQ(CreateComputeInstance(trial.board(), gi, one, kNone, &id), MigStatus::kDone);
  EXPECT_EQ(id, 1U);
  EXPECT_EQ(gi.compute[1].start, 2U);
  EXPECT_EQ(DestroyGpuInstance(trial.gpu(), GpuInstanceIdAt(trial.board(), 4, 4)),
            MigStatus::kInUse);
  EXPECT_EQ(DestroyComputeInstance(gi, 0), MigStatus::kDone);
  EXPECT_EQ(DestroyComputeInstance(gi, 0), MigStatus::kAbsent);
}

TEST(ComputeInstances, HopperOffersTheWholeDoubleMemoryInstanceAsRevisionOne) {
  Trial hopper("h200-vm"), ampere("dgx-a100-40");
  EXPECT_EQ(FindCiProfile(hopper.board(), k1gDouble, 0)->multiprocessors, 16U);
  EXPECT_EQ(FindCiProfile(hopper.board(), k1gDouble, 7)->multiprocessors, 26U);
  EXPECT_EQ(FindCiProfile(ampere.board(), k1gDouble, 7), nullptr);
}

TEST(Names, ComeFromTheNumbers) {
  Trial h200("h200-vm");
  char name[kProfileNameSize];
  const std::pair<uint32_t, const char*> cases[] = {
      {k1g, "1g.18gb"}, {k1gMe, "1g.18gb+me"}, {k1gDouble, "1g.35gb"}, {k2g, "2g.35gb"},
      {k3g, "3g.71gb"}, {k4g, "4g.71gb"},      {k7g, "7g.141gb"}};
  for (const auto& [constant, expected] : cases) {
    NameGiProfile(h200.board(), h200.Profile(constant), name);
    EXPECT_STREQ(name, expected);
  }
  NameCiProfile(h200.board(), h200.Profile(k3g), *FindCiProfile(h200.board(), k3g, 0), name);
  EXPECT_STREQ(name, "1c.3g.71gb");
  NameCiProfile(h200.board(), h200.Profile(k3g), *FindCiProfile(h200.board(), k3g, 2), name);
  EXPECT_STREQ(name, "3g.71gb");
}

TEST(Names, MigUuidsAreVersionFiveAndTellInstancesApart) {
  Trial trial("h200-vm");
  char a[kUuidSize], again[kUuidSize], b[kUuidSize];
  NameMigDevice(trial.board(), 1, 0, a);
  NameMigDevice(trial.board(), 1, 0, again);
  NameMigDevice(trial.board(), 1, 1, b);
  EXPECT_STREQ(a, again);
  EXPECT_STRNE(a, b);
  EXPECT_EQ(std::string(a).size(), 40U);
  EXPECT_EQ(std::string(a).substr(0, 4), "MIG-");
  EXPECT_EQ(a[4 + 14], '5');
}

TEST(Sha1, KnownAnswers) {
  const auto hex = [](const std::string& text) {
    uint8_t digest[20];
    Sha1(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest);
    std::string out;
    for (const uint8_t byte : digest) {
      char two[3];
      snprintf(two, sizeof two, "%02x", byte);
      out += two;
    }
    return out;
  };
  EXPECT_EQ(hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex(std::string(1000, 'a')), "291e9a6c66994949b57ba5e650361e98fc36b1ba");
}

TEST(SetMigMode, PendingBeforeHopperAndImmediateAfter) {
  Trial ampere("dgx-a100-40"), hopper("h200-vm");
  Machine machine{};
  ModeChange change{};
  ASSERT_EQ(SetMigMode(machine, ampere.board(), ampere.gpu(), true, false, &change),
            MigStatus::kDone);
  EXPECT_EQ(change, ModeChange::kResetRequired);
  EXPECT_EQ(ampere.gpu().mig_current, 0U);
  EXPECT_EQ(ampere.gpu().mig_pending, 1U);
  ASSERT_EQ(SetMigMode(machine, ampere.board(), ampere.gpu(), true, true, &change),
            MigStatus::kDone);
  EXPECT_EQ(change, ModeChange::kInUse);
  machine.idle_mode_change = 1;
  ASSERT_EQ(SetMigMode(machine, ampere.board(), ampere.gpu(), true, false, &change),
            MigStatus::kDone);
  EXPECT_EQ(change, ModeChange::kActive);
  EXPECT_EQ(ampere.gpu().mig_current, 1U);
  ASSERT_EQ(SetMigMode(machine, hopper.board(), hopper.gpu(), true, true, &change),
            MigStatus::kDone);
  EXPECT_EQ(change, ModeChange::kInUse);
  ASSERT_EQ(SetMigMode(machine, hopper.board(), hopper.gpu(), true, false, &change),
            MigStatus::kDone);
  EXPECT_EQ(change, ModeChange::kActive);
  ASSERT_EQ(hopper.Create(k1g), 6);
  EXPECT_EQ(SetMigMode(machine, hopper.board(), hopper.gpu(), false, false, &change),
            MigStatus::kInUse);
  EXPECT_EQ(hopper.gpu().mig_current, 1U);
}

TEST(SetMigMode, BoardsWithoutMigRefuse) {
  Trial t4("mixed");
  ModeChange change{};
  t4.board().mig_activation = MigActivation::kNone;
  EXPECT_EQ(SetMigMode(Machine{}, t4.board(), t4.gpu(), true, false, &change),
            MigStatus::kNotSupported);
}

}  // namespace
}  // namespace partita::sim
