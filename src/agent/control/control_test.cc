// Both sides of the control socket: the client on a thread of its own, the server on a fake loop.
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "agent/control/control_client.h"
#include "agent/control/protocol.h"
#include "agent/control/server.h"
#include "base/files.h"
#include "net/testing/fake_loop.h"

namespace partita::agent::control {
namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using std::chrono::seconds;

TEST(Protocol, TakesFramesThatAreAllThere) {
  std::string input;
  for (const char c : MakeFrame(Value::Map().Set("a", 1U))) {
    EXPECT_EQ(TakeFrame(input, 100).value(), std::nullopt);
    input += c;
  }
  input += "rest";
  EXPECT_EQ(**TakeFrame(input, 100), Value::Map().Set("a", 1U));
  EXPECT_EQ(input, "rest");
}

TEST(Protocol, RefusesWhatIsTooLongOrNoMap) {
  std::string large("\x00\x00\x00\x65", 4), list = MakeFrame(Value::List()),
                                            broken("\x00\x00\x00\x01{", 5);
  EXPECT_EQ(TakeFrame(large, 100).error().ToString(), "a frame of 101 bytes; 100 are the most");
  EXPECT_FALSE(TakeFrame(list, 100).ok());
  EXPECT_FALSE(TakeFrame(broken, 100).ok());
}

TEST(Protocol, CarriesAnErrorWhole) {
  const Error error = Error(ErrorCode::kBusy, "in use")
                          .Within("gpu 0")
                          .Within("apply")
                          .At({"f.yaml", 3, 7})
                          .WithNative({base::NativeKind::kNvml, 19})
                          .WithHint("stop it");
  const auto answer = ReadAnswer(ToValue(Answer(base::Result<Value>(error))));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(std::get<base::Result<Value>>(*answer).error(), error);
}

TEST(Protocol, CarriesEveryCode) {
  // Exit statuses depend on it. The names of what is no code are "internal".
  int codes = 0;
  for (int i = 0; i < 64; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (code != ErrorCode::kInternal && base::ToString(code) == "internal") continue;
    const auto answer =
        ReadAnswer(ToValue(Answer(base::Result<Value>(base::Error(code, "it failed")))));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(std::get<base::Result<Value>>(*answer).error().code(), code) << i;
    ++codes;
  }
  EXPECT_GE(codes, 13);
}

TEST(Protocol, RefusesAnotherVersion) {
  EXPECT_EQ(ReadRequest(Value::Map().Set("version", 2U).Set("method", "a")).error().code(),
            ErrorCode::kUnsupported);
  EXPECT_EQ(ReadAnswer(Value::Map().Set("result", 1)).error().code(), ErrorCode::kUnsupported);
}

class ControlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-control-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ + "/agent.sock";
    server_.Register("echo", [](const std::shared_ptr<Call>& call) {
      call->Progress("half");
      call->Finish(call->params());
    });
    server_.Register("hold", [this](std::shared_ptr<Call> call) {
      held_ = std::move(call);
      held_->OnGone([this] { gone_ = true; });
    });
    server_.Register("drop", [](const std::shared_ptr<Call>&) {});
    const auto listening = server_.Listen(path_);
    ASSERT_TRUE(listening.ok()) << listening.error().ToString();
  }
  void TearDown() override {
    server_.Stop();
    (void)base::RemoveTree(directory_);
  }

  // Runs a client beside the loop.
  void Beside(const std::function<void()>& client) {
    std::atomic<bool> done = false;
    std::thread thread([&] {
      client();
      done = true;
      loop_.Post([] {});
    });
    loop_.RunUntil([&] { return done.load(); });
    thread.join();
  }
  [[nodiscard]] base::UniqueFd Raw() const {
    base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    std::memcpy(where.sun_path, path_.c_str(), path_.size() + 1);
    PARTITA_CHECK(connect(fd.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)) == 0);
    return fd;
  }
  static void Say(const base::UniqueFd& fd, const std::string& bytes) {
    PARTITA_CHECK(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(bytes.size()));
  }
  // The answers that are there, and whether the server closed.
  static std::vector<Value> Hear(const base::UniqueFd& fd, bool* closed) {
    std::string input;
    std::vector<char> buffer(1 << 16);
    ssize_t count = 0;
    while ((count = recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0)
      input.append(buffer.data(), static_cast<std::size_t>(count));
    *closed = count == 0;
    std::vector<Value> frames;
    while (auto frame = TakeFrame(input, kMostAnswer).value()) frames.push_back(*frame);
    return frames;
  }

  std::string directory_, path_;
  net::testing::FakeLoop loop_;
  base::Log log_{loop_.clock(), [](std::string_view) {}};
  std::shared_ptr<Call> held_;
  bool gone_ = false;
  Server server_{loop_, log_};
};

TEST_F(ControlTest, AnswersAfterProgressAndIsAskedAgain) {
  Beside([&] {
    auto client = Client::Connect(path_);
    ASSERT_TRUE(client.ok()) << client.error().ToString();
    for (int i = 0; i < 3; ++i) {
      std::string progress;
      const auto answer =
          client->Call("echo", Value::Map().Set("n", static_cast<unsigned>(i)),
                       {.patience = seconds(60),
                        .progress = [&](const Value& value) { progress += value.AsString(); }});
      ASSERT_TRUE(answer.ok()) << answer.error().ToString();
      EXPECT_EQ(*answer, Value::Map().Set("n", static_cast<unsigned>(i)));
      EXPECT_EQ(progress, "half");
    }
  });
}

TEST_F(ControlTest, SaysThatNoAgentIsThere) {
  EXPECT_EQ(Client::Connect(directory_ + "/none").error().code(), ErrorCode::kUnavailable);
  // A socket that a dead agent left.
  server_.Stop();
  EXPECT_FALSE(base::Exists(path_));
  const base::UniqueFd dead(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path, path_.c_str(), path_.size() + 1);
  ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
  const auto refused = Client::Connect(path_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().ToString(), "no agent answers at " + path_);
  EXPECT_EQ(refused.error().hint(),
            "start it: systemctl start partita-agent, or partita agent in another terminal");
  // And a new agent takes its place.
  ASSERT_TRUE(server_.Listen(path_).ok());
  EXPECT_TRUE(Client::Connect(path_).ok());
}

TEST_F(ControlTest, TellsErrorsOfMethodsAndOfAsking) {
  Beside([&] {
    auto client = Client::Connect(path_);
    ASSERT_TRUE(client.ok());
    const auto unknown = client->Call("ecko", Value::Map(), {.patience = seconds(60)});
    EXPECT_EQ(unknown.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(unknown.error().hint(), "did you mean \"echo\"?");
    client = Client::Connect(path_);
    EXPECT_EQ(client->Call("drop", Value::Map(), {.patience = seconds(60)}).error().ToString(),
              "the agent gave no answer to \"drop\"");
  });
}

TEST_F(ControlTest, LearnsThatThePeerIsGone) {
  {
    const base::UniqueFd peer = Raw();
    Say(peer, MakeFrame(ToValue(Request{"hold", Value::Map()})));
    loop_.RunUntilIdle();
    ASSERT_NE(held_, nullptr);
    // However long it takes.
    loop_.Advance(seconds(3600));
    EXPECT_FALSE(gone_);
  }
  loop_.RunUntilIdle();
  EXPECT_TRUE(gone_);
  EXPECT_TRUE(held_->gone());
  held_->Progress("nobody hears it");
  held_->Finish(Value());
  held_.reset();
}

TEST_F(ControlTest, IsSaidToByTheClientThatItWaitsNoLonger) {
  std::atomic<bool> stop = false;
  Beside([&] {
    auto client = Client::Connect(path_);
    ASSERT_TRUE(client.ok());
    stop = true;
    EXPECT_EQ(client->Call("hold", Value::Map(), {.stop = &stop}).error().ToString(),
              "the wait for the agent was ended");
  });
  loop_.RunUntilIdle();
  EXPECT_TRUE(gone_);
}

TEST_F(ControlTest, LetsAPeerGoThatNeverFinishesAsking) {
  const base::UniqueFd silent = Raw(), slow = Raw();
  Say(slow, std::string("\x00\x00\x01\x00", 4));
  loop_.Advance(seconds(9));
  Say(slow, "{");
  loop_.RunUntilIdle();
  EXPECT_EQ(server_.connections(), 2U);
  loop_.Advance(seconds(1));
  EXPECT_EQ(server_.connections(), 0U);
}

TEST_F(ControlTest, RefusesNonsenseAndTooMuch) {
  bool closed = false;
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\x00\x10\x00\x01", 4),
        MakeFrame(Value::List()), MakeFrame(Value::Map())}) {
    const base::UniqueFd peer = Raw();
    Say(peer, bytes);
    loop_.RunUntilIdle();
    const std::vector<Value> answers = Hear(peer, &closed);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_NE(answers[0].Find("error"), nullptr);
    EXPECT_TRUE(closed);
  }
}

TEST_F(ControlTest, AnswersManyRequestsOfOneBreathInOrder) {
  std::string all;
  for (unsigned i = 0; i < 5000; ++i)
    all += MakeFrame(ToValue(Request{"echo", Value::Map().Set("n", i)}));
  const base::UniqueFd peer = Raw();
  std::size_t sent = 0;
  unsigned next = 0;
  std::string input;
  std::vector<char> buffer(1 << 16);
  while (next < 5000) {
    if (sent < all.size()) {
      const ssize_t count =
          send(peer.get(), all.data() + sent, all.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
    loop_.RunUntilIdle();
    const ssize_t count = recv(peer.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    ASSERT_NE(count, 0);
    if (count > 0) input.append(buffer.data(), static_cast<std::size_t>(count));
    while (auto frame = TakeFrame(input, kMostAnswer).value())
      if (const Value* result = frame->Find("result")) {
        ASSERT_EQ(*result, Value::Map().Set("n", next));
        ++next;
      }
  }
}

TEST_F(ControlTest, GivesTheLongestSilentPeersPlaceToANewOne) {
  std::vector<base::UniqueFd> crowd;
  for (std::size_t i = 0; i < Server::kMostConnections; ++i) crowd.push_back(Raw());
  loop_.RunUntilIdle();
  const base::UniqueFd peer = Raw();
  Say(peer, MakeFrame(ToValue(Request{"echo", Value::Map()})));
  loop_.RunUntilIdle();
  bool closed = false;
  EXPECT_EQ(Hear(peer, &closed).size(), 2U);
  (void)Hear(crowd[0], &closed);
  EXPECT_TRUE(closed);
  (void)Hear(crowd[1], &closed);
  EXPECT_FALSE(closed);
}

TEST_F(ControlTest, RefusesOneMoreWhereAllAreBeingAnswered) {
  std::vector<std::shared_ptr<Call>> calls;
  server_.Register("hold", [&](std::shared_ptr<Call> call) { calls.push_back(std::move(call)); });
  std::vector<base::UniqueFd> crowd;
  for (std::size_t i = 0; i < Server::kMostConnections; ++i) {
    crowd.push_back(Raw());
    Say(crowd.back(), MakeFrame(ToValue(Request{"hold", Value::Map()})));
  }
  loop_.RunUntilIdle();
  ASSERT_EQ(calls.size(), Server::kMostConnections);
  const base::UniqueFd peer = Raw();
  loop_.RunUntilIdle();
  bool closed = false;
  const std::vector<Value> answers = Hear(peer, &closed);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].Find("error")->Find("code")->AsString(), base::ToString(ErrorCode::kBusy));
  EXPECT_TRUE(closed);
  for (const auto& call : calls) call->Finish(Value());
}

TEST_F(ControlTest, LetsAPeerGoThatDoesNotTakeItsAnswers) {
  server_.Register("large", [](const std::shared_ptr<Call>& call) {
    call->Finish(Value(std::string(4 << 20, 'x')));
  });
  const base::UniqueFd peer = Raw();
  Say(peer, MakeFrame(ToValue(Request{"large", Value::Map()})));
  loop_.RunUntilIdle();
  EXPECT_EQ(server_.connections(), 1U);
  loop_.Advance(seconds(10));
  EXPECT_EQ(server_.connections(), 0U);
}

TEST_F(ControlTest, TellsKeptCallsWhenItStops) {
  const base::UniqueFd peer = Raw();
  Say(peer, MakeFrame(ToValue(Request{"hold", Value::Map()})));
  loop_.RunUntilIdle();
  server_.Stop();
  EXPECT_TRUE(gone_);
  held_.reset();
}

}  // namespace
}  // namespace partita::agent::control
