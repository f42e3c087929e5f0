// Our server and our channel against each other; tests/integration/rpc.py has others' of both.
#include "net/rpc/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "net/listener.h"
#include "net/rpc/channel.h"
#include "net/testing/fake_loop.h"

namespace partita::net::rpc {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using Result = base::Result<std::string>;

class RpcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-rpc-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    server_.emplace(loop_, "rpc");
    Serve();
    channel_.emplace(loop_, "client", Path());
  }
  void TearDown() override {
    channel_.reset();
    server_.reset();
    (void)base::RemoveTree(directory_);
  }

  [[nodiscard]] std::string Path() const { return directory_ + "/rpc.sock"; }
  void Serve() {
    server_->OnCall("/t.T/Echo", [](const auto& call) { call->Finish(call->request()); });
    server_->OnCall("/t.T/Keep", [this](const auto& call) { kept_ = call; });
    server_->OnCall("/t.T/Drop", [](const auto&) {});
    server_->OnCall("/t.T/Fail", [](const auto& call) {
      call->Finish(base::MakeError(ErrorCode::kNotFound, "{}", call->request()));
    });
    server_->OnStream("/t.T/Watch", [this](const auto& stream) { streams_.push_back(stream); });
    PARTITA_CHECK(server_->Listen(Path()).ok());
  }

  // Where the answer goes once it is there.
  std::shared_ptr<std::optional<Result>> Begin(const std::string& method,
                                               std::string request = "",
                                               Duration deadline = 10s) {
    auto place = std::make_shared<std::optional<Result>>();
    channel_->Call(method, std::move(request), deadline, [place](Result result) {
      PARTITA_CHECK(!place->has_value());
      *place = std::move(result);
    });
    PARTITA_CHECK(!place->has_value());
    return place;
  }
  Result Ask(const std::string& method, std::string request = "") {
    const auto answer = Begin(method, std::move(request));
    loop_.RunUntil([&] { return answer->has_value(); });
    return **answer;
  }

  std::string directory_;
  testing::FakeLoop loop_;
  std::optional<Server> server_;
  std::optional<Channel> channel_;
  std::shared_ptr<Call> kept_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

TEST_F(RpcTest, AnswersAtOnceAndLater) {
  EXPECT_EQ(Ask("/t.T/Echo", "hello").value(), "hello");
  EXPECT_EQ(Ask("/t.T/Echo", "").value(), "");
  const auto answer = Begin("/t.T/Keep", "question");
  loop_.RunUntilIdle();
  ASSERT_TRUE(kept_);
  EXPECT_FALSE(answer->has_value());
  EXPECT_EQ(kept_->request(), "question");
  kept_->Finish(std::string("late"));
  loop_.RunUntilIdle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->value(), "late");
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(RpcTest, EitherSideKnowsTheProcessOfTheOther) {
  EXPECT_EQ(channel_->peer(), 0) << "there is no connection";
  Begin("/t.T/Watch");
  EXPECT_EQ(channel_->peer(), getpid());
  loop_.RunUntil([&] { return !streams_.empty(); });
  EXPECT_EQ(streams_[0]->peer(), getpid());
  channel_->Close();
  loop_.RunUntil([&] { return streams_[0]->closed(); });
  EXPECT_EQ(channel_->peer(), getpid()) << "that of the last one";
  EXPECT_EQ(streams_[0]->peer(), getpid());
}

TEST_F(RpcTest, CarriesErrorsWithTheirText) {
  const auto failed = Ask("/t.T/Fail", "größer\nals 100 %");
  EXPECT_EQ(failed.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(failed.error().message(), "größer\nals 100 %");
  EXPECT_EQ(failed.error().ToString(), "/t.T/Fail of " + Path() + ": größer\nals 100 %");
  const auto unknown = Ask("/t.T/Unknown");
  EXPECT_EQ(unknown.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(unknown.error().message(), "method /t.T/Unknown is not served here");
  EXPECT_EQ(Ask("/t.T/Drop").error().code(), ErrorCode::kInternal);
}

TEST_F(RpcTest, TakesLargeMessagesAndRefusesLargerOnes) {
  const std::string most(kMostRequest, 'x');
  EXPECT_EQ(Ask("/t.T/Echo", most).value(), most);
  const auto over = Ask("/t.T/Echo", most + "x");
  EXPECT_EQ(over.error().code(), ErrorCode::kBusy);
  EXPECT_EQ(over.error().message(), "the message has 4194305 bytes; 4194304 are taken at most");
  channel_->most_answer = 3;
  EXPECT_EQ(Ask("/t.T/Echo", "four").error().code(), ErrorCode::kInvalid);
  // The connection is as good as before.
  EXPECT_EQ(Ask("/t.T/Echo", "one").value(), "one");
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(RpcTest, ManyCallsAtOnceWaitForTheirTurn) {
  std::vector<std::shared_ptr<std::optional<Result>>> answers;
  answers.reserve(500);
  for (int i = 0; i < 500; ++i) answers.push_back(Begin("/t.T/Echo", std::to_string(i)));
  loop_.RunUntilIdle();
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(answers[static_cast<std::size_t>(i)]->has_value()) << i;
    EXPECT_EQ((*answers[static_cast<std::size_t>(i)])->value(), std::to_string(i));
  }
}

TEST_F(RpcTest, KeepsTheDeadlineOnBothSides) {
  const auto answer = Begin("/t.T/Keep", "", 3s);
  loop_.RunUntilIdle();
  loop_.Advance(2999ms);
  EXPECT_FALSE(answer->has_value());
  loop_.Advance(1ms);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->error().code(), ErrorCode::kTimeout);
  // Nobody hears it any more, and nobody is hurt.
  kept_->Finish(std::string("too late"));
  EXPECT_EQ(Ask("/t.T/Echo", "next").value(), "next");
}

TEST_F(RpcTest, ASilentServerIsLeftForANewConnection) {
  server_->Stop();
  auto deaf = Listener::Open({base::ListenAddress::Kind::kUnix, "", 0, Path()});
  ASSERT_TRUE(deaf.ok());
  const auto answer = Begin("/t.T/Echo", "x", 3s);
  loop_.Advance(3s);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->error().code(), ErrorCode::kTimeout);
  ASSERT_TRUE(server_->Listen(Path()).ok());
  EXPECT_EQ(Ask("/t.T/Echo", "x").value(), "x");
}

TEST_F(RpcTest, SaysWhenNobodyListens) {
  server_->Stop();
  EXPECT_FALSE(base::Exists(Path()));
  EXPECT_FALSE(server_->listening());
  const auto failed = Ask("/t.T/Echo");
  EXPECT_EQ(failed.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(failed.error().ToString(),
            "/t.T/Echo: connect to " + Path() + ": No such file or directory (errno 2)");
}

TEST_F(RpcTest, ConnectsAgainAfterTheServerCameBack) {
  EXPECT_TRUE(Ask("/t.T/Echo").ok());
  const auto under_way = Begin("/t.T/Keep");
  loop_.RunUntilIdle();
  server_->Stop();
  loop_.RunUntilIdle();
  ASSERT_TRUE(under_way->has_value());
  EXPECT_EQ((*under_way)->error().code(), ErrorCode::kUnavailable);
  kept_->Finish(std::string("nobody is there"));
  Serve();
  EXPECT_TRUE(server_->listening());
  EXPECT_EQ(Ask("/t.T/Echo", "again").value(), "again");
}

TEST_F(RpcTest, CloseAnswersWhatIsUnderWayAndDestructionNothing) {
  const auto closed = Begin("/t.T/Keep");
  loop_.RunUntilIdle();
  channel_->Close();
  loop_.RunUntilIdle();
  EXPECT_EQ((*closed)->error().code(), ErrorCode::kUnavailable);
  const auto forgotten = Begin("/t.T/Keep"), unsent = Begin("/t.T/Echo");
  channel_.reset();
  loop_.RunUntilIdle();
  EXPECT_FALSE(forgotten->has_value() || unsent->has_value());
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(RpcTest, AnAnswerOnItsWayDoesNotOutliveItsChannel) {
  server_->Stop();
  const auto refused = Begin("/t.T/Echo");
  channel_.reset();
  loop_.RunUntilIdle();
  EXPECT_FALSE(refused->has_value());
}

TEST_F(RpcTest, ASecondServerTakesThePathAndTheFirstNotices) {
  Server second(loop_, "second");
  second.OnCall("/t.T/Echo", [](const auto& call) { call->Finish(std::string("second")); });
  EXPECT_FALSE(server_->Lost());
  ASSERT_TRUE(second.Listen(Path()).ok());
  EXPECT_TRUE(server_->Lost());
  EXPECT_EQ(Ask("/t.T/Echo").value(), "second");
  server_->Stop();
  EXPECT_FALSE(second.Lost());
  struct stat status {};
  ASSERT_EQ(lstat(Path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_FALSE(server_->Listen(directory_ + "/no/such").ok());
}

TEST_F(RpcTest, AServerMayEndInTheMiddleOfACall) {
  server_->OnCall("/t.T/End", [this](const auto& call) {
    server_.reset();
    call->Finish(std::string("nobody hears it"));
  });
  const auto first = Begin("/t.T/End"), second = Begin("/t.T/Echo");
  loop_.RunUntilIdle();
  EXPECT_EQ((*first)->error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ((*second)->error().code(), ErrorCode::kUnavailable);
}

TEST_F(RpcTest, AChannelMayEndInItsOwnAnswer) {
  bool answered = false;
  channel_->Call("/t.T/Echo", "", 10s, [&](const Result&) {
    answered = true;
    channel_.reset();
  });
  loop_.RunUntil([&] { return answered; });
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(RpcTest, AnsweredStreamsAreTooMuchForAUnaryCall) {
  const auto answer = Begin("/t.T/Watch");
  loop_.RunUntilIdle();
  ASSERT_EQ(streams_.size(), 1U);
  int closed = 0;
  streams_[0]->OnClosed([&] { ++closed; });
  streams_[0]->Publish("one");
  loop_.RunUntilIdle();
  streams_[0]->Publish("two");
  loop_.RunUntilIdle();
  EXPECT_EQ((*answer)->error().code(), ErrorCode::kInvalid);
  // The channel gave the call up, which the stream hears.
  EXPECT_TRUE(streams_[0]->closed());
  EXPECT_EQ(closed, 1);
}

TEST_F(RpcTest, AStreamEndsWithItsStatusAndIsTold) {
  const auto fine = Begin("/t.T/Watch", "first"), bad = Begin("/t.T/Watch", "second");
  loop_.RunUntilIdle();
  ASSERT_EQ(streams_.size(), 2U);
  EXPECT_EQ(streams_[0]->request(), "first");
  int closed = 0;
  streams_[0]->OnClosed([&] { ++closed; });
  streams_[0]->Publish("replaced");
  streams_[0]->Publish("newest");
  streams_[0]->Finish({});
  EXPECT_EQ(closed, 1);
  EXPECT_TRUE(streams_[0]->closed());
  streams_[0]->Publish("nobody hears it");
  streams_[1]->Finish({StatusCode::kFailedPrecondition, "no"});
  streams_[1]->OnClosed([&] { ++closed; });
  EXPECT_EQ(closed, 2);
  loop_.RunUntilIdle();
  EXPECT_EQ((*bad)->error().ToString(), "/t.T/Watch of " + Path() + ": no");
  // The first of the two had gone out already: there was room for it.
  EXPECT_EQ((*fine)->error().code(), ErrorCode::kInvalid);
}

TEST_F(RpcTest, AStreamHearsOfLostPeersAndOfTheServersEnd) {
  int closed = 0;
  const auto lost = Begin("/t.T/Watch");
  loop_.RunUntilIdle();
  streams_[0]->OnClosed([&] { ++closed; });
  channel_->Close();
  loop_.RunUntilIdle();
  EXPECT_EQ(closed, 1);
  const auto stopped = Begin("/t.T/Watch");
  loop_.RunUntilIdle();
  streams_[1]->OnClosed([&] { ++closed; });
  server_->Stop();
  EXPECT_EQ(closed, 2);
  EXPECT_TRUE(streams_[1]->closed());
  streams_[1]->Publish("into the void");
  streams_[1]->Finish({});
}

TEST_F(RpcTest, AStreamHasItsCallersDeadline) {
  const auto answer = Begin("/t.T/Watch", "", 3s);
  loop_.RunUntilIdle();
  loop_.Advance(3s);
  EXPECT_TRUE(streams_[0]->closed());
}

}  // namespace
}  // namespace partita::net::rpc
