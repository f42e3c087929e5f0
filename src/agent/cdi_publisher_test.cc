#include "agent/cdi_publisher.h"

#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "net/testing/fake_loop.h"

namespace partita::agent {
namespace {

using service::inventory::Changes;
using service::inventory::Snapshot;
using service::inventory::SnapshotPtr;
using std::chrono::milliseconds;

class CdiPublisherTest : public ::testing::Test {
 protected:
  static SnapshotPtr Snap(std::uint64_t generation) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->inventory.generation = generation;
    return snapshot;
  }
  static Changes Shape() { return {.shape = true}; }

  void Start() {
    publisher_.Start(CdiOptions{.directory = "/cdi"}, Snap(1), [this] { ++firsts_; });
  }
  // The thread gets to it.
  void Work() {
    ASSERT_FALSE(jobs_.empty());
    const net::Task job = std::move(jobs_.front());
    jobs_.pop_front();
    job();
    loop_.RunUntilIdle();
  }
  [[nodiscard]] int Count(const std::string& text) const {
    int count = 0;
    for (std::size_t at = lines_.find(text); at != std::string::npos;
         at = lines_.find(text, at + 1))
      ++count;
    return count;
  }

  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  std::deque<net::Task> jobs_;
  std::vector<std::uint64_t> done_;  // generations
  CdiOutcome outcome_;
  std::string there_;  // what a look at the files says
  int firsts_ = 0, changes_ = 0;
  CdiPublisher publisher_{loop_,
                          log_,
                          [this] { ++changes_; },
                          [this](const CdiOptions&, const model::Inventory& inventory) {
                            done_.push_back(inventory.generation);
                            CdiOutcome outcome = outcome_;
                            outcome.generation = inventory.generation;
                            return outcome;
                          },
                          [this](net::Task job) { jobs_.push_back(std::move(job)); },
                          [this](const CdiOptions&) { return there_; }};
};

TEST_F(CdiPublisherTest, TellsWhenTheFirstFilesAreThere) {
  Start();
  loop_.RunUntilIdle();
  EXPECT_EQ(firsts_, 0);
  Work();
  EXPECT_EQ(firsts_, 1);
  EXPECT_EQ(done_, std::vector<std::uint64_t>{1});
  EXPECT_EQ(publisher_.problem(), "");
}

TEST_F(CdiPublisherTest, ManyChangesAreOneFileOfTheNewest) {
  Start();
  Work();
  for (std::uint64_t generation = 2; generation < 6; ++generation) {
    publisher_.Published(Snap(generation), Shape());
    loop_.Advance(milliseconds(40));
  }
  EXPECT_TRUE(jobs_.empty());
  loop_.Advance(milliseconds(40));
  ASSERT_EQ(jobs_.size(), 1U);
  // Later than the work began: it is for the next one.
  publisher_.Published(Snap(6), Shape());
  Work();
  EXPECT_EQ(done_, (std::vector<std::uint64_t>{1, 5}));
  Work();
  EXPECT_EQ(done_, (std::vector<std::uint64_t>{1, 5, 6}));
  EXPECT_TRUE(jobs_.empty());
  EXPECT_EQ(firsts_, 1);
}

TEST_F(CdiPublisherTest, ReadingsAndHoldersAreNothingToIt) {
  Start();
  Work();
  publisher_.Published(Snap(2), {.readings = true, .holders = true});
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(jobs_.empty());
}

TEST_F(CdiPublisherTest, TheSameFailureIsToldOnceAndTriedAgain) {
  outcome_.problem = base::Error(base::ErrorCode::kConflict, "other.yaml defines devices too");
  Start();
  Work();
  EXPECT_EQ(firsts_, 1);
  EXPECT_EQ(publisher_.problem(), "other.yaml defines devices too");
  EXPECT_EQ(changes_, 1);
  for (int look = 0; look < 3; ++look) {
    publisher_.Looked();
    loop_.Advance(milliseconds(200));
    Work();
  }
  EXPECT_EQ(done_.size(), 4U);
  EXPECT_EQ(Count("CDI files are not up to date"), 1);
  outcome_.problem.reset();
  publisher_.Looked();
  loop_.Advance(milliseconds(200));
  Work();
  EXPECT_EQ(publisher_.problem(), "");
  EXPECT_EQ(Count("CDI files are up to date again"), 1);
  // What is well is not done again for nothing.
  publisher_.Looked();
  loop_.Advance(milliseconds(200));
  EXPECT_TRUE(jobs_.empty());
}

TEST_F(CdiPublisherTest, WhatSomebodyElseChangedIsWrittenAgain) {
  outcome_.left = there_ = "ours";
  Start();
  Work();
  publisher_.Looked();
  loop_.Advance(milliseconds(200));
  EXPECT_TRUE(jobs_.empty());
  there_ = "";
  publisher_.Looked();
  publisher_.Looked();
  loop_.Advance(milliseconds(200));
  ASSERT_EQ(jobs_.size(), 1U);
  there_ = "ours";
  Work();
  EXPECT_EQ(Count("somebody changed CDI files"), 1);
  // Its own writing is nothing to it.
  publisher_.Looked();
  loop_.Advance(milliseconds(200));
  EXPECT_TRUE(jobs_.empty());
}

TEST_F(CdiPublisherTest, WhatIsLeftOutIsToldOnce) {
  outcome_.news = {"GPU 0: it is lost"};
  Start();
  Work();
  publisher_.Published(Snap(2), Shape());
  loop_.Advance(milliseconds(200));
  Work();
  EXPECT_EQ(Count("GPU 0: it is lost"), 1);
}

TEST_F(CdiPublisherTest, OtherOptionsAreWrittenToo) {
  Start();
  Work();
  publisher_.SetOptions(CdiOptions{.directory = "/cdi"});
  loop_.Advance(milliseconds(200));
  EXPECT_TRUE(jobs_.empty());
  publisher_.SetOptions(CdiOptions{.directory = "/cdi", .management = true});
  loop_.Advance(milliseconds(200));
  EXPECT_EQ(jobs_.size(), 1U);
}

TEST_F(CdiPublisherTest, WhatEndsAfterTheStopIsForNobody) {
  int stops = 0;
  Start();
  publisher_.Stop([&] { ++stops; });
  loop_.RunUntilIdle();
  // Its thread may hang; that is for whoever stops it to judge.
  EXPECT_EQ(stops, 0);
  EXPECT_TRUE(publisher_.running());
  Work();
  EXPECT_EQ(stops, 1);
  EXPECT_FALSE(publisher_.running());
  EXPECT_EQ(firsts_, 0);
  publisher_.Published(Snap(2), Shape());
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(jobs_.empty());
}

}  // namespace
}  // namespace partita::agent
