#include "agent/steps.h"

#include <string>

#include <gtest/gtest.h>

#include "net/testing/fake_loop.h"

namespace partita::agent {
namespace {

using std::chrono::seconds;

class StepsTest : public ::testing::Test {
 protected:
  StartStep Begins(const std::string& name, const base::Result<void>& end = {}) {
    return {name, seconds(1), [this, name, end](const Done& done) {
              order_ += "+" + name + " ";
              done(end);
            }};
  }
  StartStep Hangs(const std::string& name) {
    return {name, seconds(1), [this, name](const Done& done) {
              order_ += "+" + name + " ";
              late_ = done;
            }};
  }
  StopStep Ends(const std::string& name, bool answers = true) {
    return {name,
            seconds(1),
            [this, name, answers](const Done& done) {
              order_ += "-" + name + " ";
              if (answers) done({});
            },
            {name}};
  }
  Steps& Make(std::vector<StartStep> start, std::vector<StopStep> stop) {
    steps_.emplace(loop_, log_, std::move(start), std::move(stop));
    steps_->Start([this] { order_ += "started "; },
                  [this](const base::Result<void>& end) {
                    order_ += end.ok() ? "ended" : "ended: " + end.error().ToString();
                  });
    loop_.RunUntilIdle();
    return *steps_;
  }

  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  std::string order_;
  Done late_;
  std::optional<Steps> steps_;
};

TEST_F(StepsTest, RunInOrderAndStopInTheirOwn) {
  Steps& steps = Make({Begins("a"), Begins("b")}, {Ends("b"), Ends("a")});
  EXPECT_EQ(order_, "+a +b started ");
  steps.Stop();
  steps.Stop();
  loop_.RunUntilIdle();
  EXPECT_EQ(order_, "+a +b started -b -a ended");
}

TEST_F(StepsTest, UndoWhatWasBegunWhereOneFails) {
  Make({Begins("a"), Begins("b", base::Error(base::ErrorCode::kIo, "broken")), Begins("c")},
       {Ends("c"), Ends("b"), Ends("a")});
  EXPECT_EQ(order_, "+a +b -b -a ended: b: broken");
}

TEST_F(StepsTest, UndoWhatWasBegunWhereOneIsLate) {
  Make({Begins("a"), Hangs("b")}, {Ends("b"), Ends("a")});
  EXPECT_EQ(steps_->current(), "b");
  loop_.Advance(seconds(1));
  EXPECT_EQ(order_, "+a +b -b -a ended: b: not done within 1000 ms");
  // Its answer comes too late to count.
  late_({});
  loop_.RunUntilIdle();
  EXPECT_EQ(order_, "+a +b -b -a ended: b: not done within 1000 ms");
}

TEST_F(StepsTest, EndAStartThatIsStopped) {
  Steps& steps = Make({Begins("a"), Hangs("b"), Begins("c")}, {Ends("b"), Ends("a")});
  steps.Stop();
  late_({});
  loop_.RunUntilIdle();
  EXPECT_EQ(order_, "+a +b -b -a ended");
}

TEST_F(StepsTest, StopToTheEndAlsoPastOneThatHangs) {
  Steps& steps = Make({Begins("a"), Begins("b")}, {Ends("b", false), Ends("a")});
  steps.Stop();
  loop_.RunUntilIdle();
  EXPECT_EQ(order_, "+a +b started -b ");
  loop_.Advance(seconds(1));
  EXPECT_EQ(order_, "+a +b started -b -a ended");
  EXPECT_NE(
      lines_.find("stopping goes on without this step step=b err=\"not done within 1000 ms\""),
      std::string::npos)
      << lines_;
}

}  // namespace
}  // namespace partita::agent
