// The judge must find every kind of damage: each test takes a sound state and breaks one thing.
#include "checker.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstring>
#include <functional>
#include <memory>

#include "rendered.h"

namespace partita::torture {
namespace {

using sim::Board;
using sim::kNone;
using sim::Machine;
using sim::Slot;

struct ProfileRow {
  std::uint32_t constant, id, slices, count, multiprocessors, size;
  std::vector<std::uint32_t> starts;
};
// The A100 of the MIG user guide.
const ProfileRow kA100[] = {
    {0, 19, 1, 7, 14, 1, {0, 1, 2, 3, 4, 5, 6}},
    {9, 15, 1, 4, 14, 2, {0, 2, 4, 6}},
    {1, 14, 2, 3, 28, 2, {0, 2, 4}},
    {2, 9, 3, 2, 42, 4, {0, 4}},
    {3, 5, 4, 1, 56, 4, {0}},
    {4, 0, 7, 1, 98, 8, {0}},
};

void AddComputeProfile(Board* board,
                       std::uint32_t gi_constant,
                       std::uint32_t id,
                       std::uint32_t slices,
                       std::uint32_t count) {
  sim::CiProfile& profile = board->ci_profiles[board->ci_profile_count++];
  profile.gi_constant = gi_constant;
  profile.id = id;
  profile.slice_count = slices;
  profile.instance_count = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    profile.placement_starts[profile.placement_count++] = i * slices;
  }
}

void FillBoard(Board* board) {
  board->mig_activation = sim::MigActivation::kReset;
  board->gi_numbering = sim::GiNumbering::kRightHalfFirst;
  board->memory_slices = 8;
  board->compute_slices = 7;
  for (const ProfileRow& row : kA100) {
    sim::GiProfile& profile = board->gi_profiles[board->gi_profile_count++];
    profile.constant = row.constant;
    profile.id = row.id;
    profile.slice_count = row.slices;
    profile.instance_count = row.count;
    profile.multiprocessors = row.multiprocessors;
    profile.placement_size = row.size;
    for (const std::uint32_t start : row.starts) {
      profile.placement_starts[profile.placement_count++] = start;
    }
  }
  AddComputeProfile(board, 2, 0, 1, 3);
  AddComputeProfile(board, 2, 2, 3, 1);
  AddComputeProfile(board, 0, 0, 1, 1);
}

// Two A100; on the first a 3g at 4 (number 1) with two compute instances and a 1g at 0 (number 11),
// a holder of the former, and three events.
class CheckerTest : public testing::Test {
 protected:
  CheckerTest() {
    machine_->gpu_count = 2;
    machine_->major_caps = 241;
    for (std::uint32_t i = 0; i < 2; ++i) {
      machine_->boards[i].minor = i;
      FillBoard(&machine_->boards[i]);
    }
    slot_->boot = slot_->driver_loads = 1;
    slot_->next_incarnation = 3;
    slot_->gpus[0].mig_current = slot_->gpus[0].mig_pending = 1;
    three_g_ = &slot_->gpus[0].instances[1];
    *three_g_ = {1, 2, 4, 0, 1, {{1, 0, 0, 1}, {1, 0, 1, 1}}};
    one_g_ = &slot_->gpus[0].instances[11];
    *one_g_ = {1, 0, 0, 0, 2, {{1, 0, 0, 1}}};
    sim::Holder& holder = slot_->holders[7];
    holder.live = 1;
    holder.gpu_instance = 1;
    holder.compute_instance = 1;
    holder.incarnation = 1;
    for (slot_->next_event = 1; slot_->next_event < 4; ++slot_->next_event) {
      sim::Event& event = slot_->events[slot_->next_event];
      event.sequence = slot_->next_event;
      event.type = 0x100;
    }
  }

  std::string Check() {
    Findings findings;
    CheckSlot(*machine_, *slot_, &findings);
    return findings.Text();
  }

  std::unique_ptr<Machine> machine_ = std::make_unique<Machine>();
  std::unique_ptr<Slot> slot_ = std::make_unique<Slot>();
  sim::GpuInstance* three_g_;
  sim::GpuInstance* one_g_;
};

TEST_F(CheckerTest, FindsNothingInASoundState) { EXPECT_EQ(Check(), ""); }

TEST_F(CheckerTest, FindsEachKindOfDamage) {
  struct Case {
    const char* name;
    std::function<void(Slot&)> damage;
    const char* finding;
  };
  const Case cases[] = {
      {"overlap",
       [](Slot& s) {
         s.gpus[0].instances[7] = {1, 0, 4, 0, 3, {}};
         s.next_incarnation = 4;
       },
       "  gpu 0 gi 7: memory slices 4:1 overlap or leave the board of 8\n"},
      {"half-written instance", [](Slot& s) { s.gpus[0].instances[11].incarnation = 0; },
       "  gpu 0 gi 11: incarnation 0, next is 3\n"},
      {"placement", [](Slot& s) { s.gpus[0].instances[1].start = 2; },
       "  gpu 0 gi 1: start 2 is not a placement of profile 9\n"},
      {"id", [](Slot& s) { std::swap(s.gpus[0].instances[11], s.gpus[0].instances[12]); },
       "  gpu 0 gi 12: placement 0:1 has id 11\n"},
      {"profile", [](Slot& s) { s.gpus[0].instances[11].profile = 5; },
       "  gpu 0 gi 11: profile constant 5 is unknown\n"},
      {"incarnation reused", [](Slot& s) { s.gpus[0].instances[11].incarnation = 1; },
       "  gpu 0 gi 11: incarnation 1 is used twice\n"},
      {"counter behind", [](Slot& s) { s.next_incarnation = 2; },
       "  gpu 0 gi 11: incarnation 2, next is 2\n"},
      {"compute overlap", [](Slot& s) { s.gpus[0].instances[1].compute[1].start = 0; },
       "  gpu 0 gi 1 ci 1: slices 0+1 overlap or leave the GPU instance of 3\n"},
      {"compute size", [](Slot& s) { s.gpus[0].instances[1].compute[1].size = 2; },
       "  gpu 0 gi 1 ci 1: size 2, its profile has 1\n"},
      {"compute profile", [](Slot& s) { s.gpus[0].instances[11].compute[0].profile = 1; },
       "  gpu 0 gi 11 ci 0: profile 1 is not offered there\n"},
      {"instances with MIG off",
       [](Slot& s) {
         s.gpus[0].mig_current = 0;
         s.gpus[0].instances[11] = {};
       },
       "  gpu 0 gi 1: exists with MIG off\n"},
      {"mode", [](Slot& s) { s.gpus[1].mig_pending = 7; }, "  gpu 1: MIG mode 0/7\n"},
      {"holder of a gone compute instance", [](Slot& s) { s.gpus[0].instances[1].compute[1] = {}; },
       "  holder 7: holds gpu 0 gi 1 ci 1, which is gone\n"},
      {"holder of an earlier incarnation", [](Slot& s) { s.holders[7].incarnation = 9; },
       "  holder 7: holds gpu 0 gi 1 incarnation 9, which is gone\n"},
      {"event gap", [](Slot& s) { s.events[2].sequence = 5; },
       "  event 2: its place in the ring holds 5\n"},
      {"event counter ahead of its event", [](Slot& s) { s.next_event = 5; },
       "  event 4: its place in the ring holds 0\n"},
  };
  const Slot sound = *slot_;
  for (const Case& test : cases) {
    *slot_ = sound;
    test.damage(*slot_);
    EXPECT_EQ(Check(), test.finding) << test.name;
  }
}

TEST_F(CheckerTest, CountsTheEnginesOfTheBoard) {
  machine_->boards[0].gi_profiles[3].multiprocessors = 90;
  EXPECT_EQ(Check(), "  gpu 0: 104 multiprocessors in use, the board has 98\n");
  machine_->boards[0].gi_profiles[3].multiprocessors = 42;
  machine_->boards[0].gi_profiles[0].instance_count = 0;
  EXPECT_EQ(Check(), "  gpu 0: 1 instances of profile 19, at most 0\n");
}

TEST_F(CheckerTest, NumbersInstancesFromEitherHalf) {
  Board& board = machine_->boards[0];
  EXPECT_EQ(ExpectedGpuInstanceId(board, 0, 8), 0U);
  EXPECT_EQ(ExpectedGpuInstanceId(board, 4, 4), 1U);
  EXPECT_EQ(ExpectedGpuInstanceId(board, 6, 2), 4U);
  EXPECT_EQ(ExpectedGpuInstanceId(board, 3, 1), 14U);
  board.gi_numbering = sim::GiNumbering::kLeftHalfFirst;
  EXPECT_EQ(ExpectedGpuInstanceId(board, 4, 4), 2U);
  EXPECT_EQ(ExpectedGpuInstanceId(board, 3, 1), 10U);
}

TEST_F(CheckerTest, FindsDamagedHeaders) {
  sim::FileHeader header{};
  header.magic = sim::kMagic;
  header.layout_version = sim::kLayoutVersion;
  header.file_size = sizeof(sim::StateFile);
  header.generation = header.rendered = 5;
  Findings sound;
  CheckHeader(header, sizeof(sim::StateFile), &sound);
  EXPECT_EQ(sound.Text(), "");
  header.rendered = 6;
  header.magic = 0;
  Findings damaged;
  CheckHeader(header, sizeof(sim::StateFile), &damaged);
  EXPECT_EQ(damaged.Text(), "  magic is 0x0\n  rendered 6 is beyond generation 5\n");
}

TEST_F(CheckerTest, ComparesEveryByteButTheClock) {
  auto other = std::make_unique<Slot>(*slot_);
  other->clock.base_ns = 77;
  EXPECT_TRUE(SameState(*machine_, *slot_, *other));
  other->gpus[1].energy_before_mj = 1;
  EXPECT_FALSE(SameState(*machine_, *slot_, *other));
}

TEST_F(CheckerTest, FindsTornCopies) {
  // Publish after every single byte of a change has arrived, as a store would that publishes early.
  auto before = std::make_unique<Slot>(*slot_);
  auto after = std::make_unique<Slot>(*slot_);
  after->gpus[0].instances[12] = {1, 0, 1, 0, 3, {}};
  after->next_incarnation = 4;
  char* torn = reinterpret_cast<char*>(slot_.get());
  const char* whole = reinterpret_cast<const char*>(after.get());
  int copies = 0;
  for (std::size_t i = 0; i < UsedBytes(*machine_); ++i) {
    if (torn[i] == whole[i]) continue;
    if (copies++ > 0) {
      EXPECT_FALSE(SameState(*machine_, *slot_, *before));
      EXPECT_FALSE(SameState(*machine_, *slot_, *after));
    }
    torn[i] = whole[i];
  }
  EXPECT_TRUE(SameState(*machine_, *slot_, *after));
  EXPECT_EQ(copies, 4);  // live, start, incarnation, next_incarnation: one byte differs in each
}

TEST_F(CheckerTest, HistoryFindsWhatMustNotHappenBetweenTwoStates) {
  const Slot sound = *slot_;
  const auto second = [&](const std::function<void(Slot&)>& change, std::uint64_t generation) {
    *slot_ = sound;
    History history;
    Findings findings;
    history.Observe(*machine_, 10, *slot_, &findings);
    change(*slot_);
    history.Observe(*machine_, generation, *slot_, &findings);
    return findings.Text();
  };
  EXPECT_EQ(second([](Slot&) {}, 10), "");
  EXPECT_EQ(second([](Slot& s) { s.gpus[0].instances[1] = {}; }, 11), "");
  EXPECT_EQ(second([](Slot&) {}, 9), "  generation fell from 10 to 9\n");
  EXPECT_EQ(second([](Slot& s) { s.next_event = 3; }, 11), "  next event fell from 4 to 3\n");
  EXPECT_EQ(second([](Slot& s) { s.events[2].data = 79; }, 11),
            "  event 2 changed after it was published\n");
  EXPECT_EQ(second([](Slot& s) { s.gpus[0].instances[1].start = 0; }, 11),
            "  incarnation 1 was gpu 0 gi 1 and is gpu 0 gi 1\n");
}

TEST_F(CheckerTest, HistoryFindsAnIncarnationThatComesBack) {
  History history;
  Findings findings;
  const Slot sound = *slot_;
  history.Observe(*machine_, 10, *slot_, &findings);
  *one_g_ = {};
  history.Observe(*machine_, 11, *slot_, &findings);
  *slot_ = sound;
  history.Observe(*machine_, 12, *slot_, &findings);
  EXPECT_EQ(findings.Text(), "  gpu 0 gi 11: incarnation 2 came back after it was gone\n");
}

TEST_F(CheckerTest, DescribesModesAndInstances) {
  EXPECT_EQ(DescribeState(*machine_, *slot_),
            "gpu 0 mig 1 pending 1\n"
            "gpu 0 gi 1 profile 9 placement 4:4\n"
            "gpu 0 gi 1 ci 0 profile 0 placement 0:1\n"
            "gpu 0 gi 1 ci 1 profile 0 placement 1:1\n"
            "gpu 0 gi 11 profile 19 placement 0:1\n"
            "gpu 0 gi 11 ci 0 profile 0 placement 0:1\n"
            "gpu 1 mig 0 pending 0\n");
}

// ---- the driver's files -------------------------------------------------------------------------

Entry AccessFile(int minor) {
  return {S_IFREG | 0444, 0,
          fmt::format("DeviceFileMinor: {}\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor)};
}
Entry Node(unsigned minor) { return {S_IFCHR | 0444, makedev(241, minor), ""}; }
const Entry kDirectory = {S_IFDIR | 0755, 0, ""};

class RenderedTest : public CheckerTest {
 protected:
  RenderedTest() {
    reference_ = {{"dev", kDirectory},
                  {"dev/nvidia-caps", kDirectory},
                  {"dev/nvidia-caps/nvidia-cap1", {S_IFCHR | 0400, makedev(241, 1), ""}},
                  {"proc/driver/nvidia/version", {S_IFREG | 0444, 0, "NVRM"}}};
    tree_ = reference_;
    const std::string base = "proc/driver/nvidia/capabilities/gpu0";
    for (const char* way :
         {"", "/mig", "/mig/gi1", "/mig/gi1/ci0", "/mig/gi1/ci1", "/mig/gi11", "/mig/gi11/ci0"}) {
      tree_[base + way] = kDirectory;
    }
    const std::pair<const char*, unsigned> files[] = {{"/mig/gi1/access", 12},
                                                      {"/mig/gi1/ci0/access", 13},
                                                      {"/mig/gi1/ci1/access", 14},
                                                      {"/mig/gi11/access", 102},
                                                      {"/mig/gi11/ci0/access", 103}};
    for (const auto& [path, minor] : files) {
      tree_[base + path] = AccessFile(static_cast<int>(minor));
      tree_[fmt::format("dev/nvidia-caps/nvidia-cap{}", minor)] = Node(minor);
    }
  }
  std::string CheckFiles() {
    Findings findings;
    CheckRendered(tree_, reference_, *machine_, *slot_, &findings);
    return findings.Text();
  }
  Tree reference_, tree_;
};

TEST_F(RenderedTest, FindsNothingWhereFilesShowTheState) { EXPECT_EQ(CheckFiles(), ""); }

TEST_F(RenderedTest, FindsFilesOfAnInstanceThatIsGone) {
  one_g_->compute[0] = {};
  EXPECT_EQ(CheckFiles(),
            "  dev/nvidia-caps/nvidia-cap103: must not be there\n"
            "  proc/driver/nvidia/capabilities/gpu0/mig/gi11/ci0: must not be there\n"
            "  proc/driver/nvidia/capabilities/gpu0/mig/gi11/ci0/access: must not be there\n");
}

TEST_F(RenderedTest, FindsMissingAndWrongAndLeftOverFiles) {
  tree_.erase("dev/nvidia-caps/nvidia-cap12");
  tree_["dev/nvidia-caps/nvidia-cap13"] = Node(14);
  tree_["proc/driver/nvidia/version.new"] = {S_IFREG | 0600, 0, "NV"};
  EXPECT_EQ(CheckFiles(),
            "  dev/nvidia-caps/nvidia-cap13: mode 20444 device 241:14 content \"\", expected mode "
            "20444 device 241:13 content \"\"\n"
            "  proc/driver/nvidia/version.new: must not be there\n"
            "  dev/nvidia-caps/nvidia-cap12: is missing\n");
}

}  // namespace
}  // namespace partita::torture
