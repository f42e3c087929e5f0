#include "service/device_plugin/endpoint.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "net/testing/fake_loop.h"
#include "service/device_plugin/testing/callers.h"
#include "service/ledger/testing/scratch.h"

namespace partita::service::device_plugin {
namespace {

using std::chrono::seconds;
using testing::Ear;
using testing::InPidNamespace;
using testing::kNoNamespace;
using testing::Kubelet;

class EndpointTest : public ::testing::Test {
 protected:
  EndpointTest() {
    duties_.allocate = [this](const std::vector<std::vector<std::string>>& containers)
        -> base::Result<std::vector<Answer>> {
      if (containers[0][0] == "wrong")
        return base::Error(base::ErrorCode::kInvalid, "unknown device: wrong");
      asked_ = containers;
      Answer answer;
      answer.cdi_devices = {"x/y=" + containers[0][0]};
      return std::vector<Answer>{answer};
    };
    duties_.prefer = [](const PreferRequest& request) {
      return std::vector<std::string>(request.available.begin(), request.available.begin() + 1);
    };
  }
  void Make() {
    endpoint_.emplace(loop_, log_, "nvidia.com/gpu",
                      KubeletPlace{scratch_.path(), scratch_.path() + "/kubelet.sock"}, duties_,
                      [this] { ++changes_; });
    endpoint_->SetDevices({{"GPU-a", true, 0}});
  }
  void StartBoth() {
    kubelet_.emplace(loop_, scratch_.path());
    Make();
    endpoint_->Start();
    loop_.RunUntil([this] { return endpoint_->streaming(); });
  }
  [[nodiscard]] bool SocketIsThere() const {
    return std::filesystem::exists(scratch_.path() + "/nvidia-gpu.sock");
  }
  // One that has heard the list.
  std::unique_ptr<Ear> Listen() {
    auto ear = std::make_unique<Ear>(loop_, scratch_.path() + "/nvidia-gpu.sock");
    loop_.RunUntil([&] { return ear->heard() == Lists(endpoint_->devices()); });
    return ear;
  }
  // kubelet is so slow that the registration is given up, and nothing has come of it.
  void GiveUp() {
    kubelet_->Hangs(true);
    Make();
    endpoint_->Start();
    loop_.RunUntilIdle();
    loop_.Advance(seconds(5));
    loop_.RunUntil([this] { return lines_.find("not registered") != std::string::npos; });
    EXPECT_FALSE(endpoint_->streaming());
  }
  [[nodiscard]] std::size_t TimesListened() const {
    std::size_t times = 0;
    for (std::size_t at = 0; (at = lines_.find("kubelet listens", at)) != std::string::npos; ++at)
      ++times;
    return times;
  }
  [[nodiscard]] bool WillRegister() const {
    for (const auto& [name, due] : loop_.ArmedTimers())
      if (name == "register") return true;
    return false;
  }
  // As a stream has it.
  [[nodiscard]] static std::string Lists(const std::vector<Listed>& devices) {
    return net::rpc::Framed(ListMessage(devices));
  }
  [[nodiscard]] std::size_t Registrations() const { return kubelet_->registered().size(); }
  base::Result<std::string> Ask(std::string_view method, const std::string& message) {
    std::optional<base::Result<std::string>> answer;
    kubelet_->plugin().Call(std::string(method), message, seconds(10),
                            [&](base::Result<std::string> said) { answer = std::move(said); });
    loop_.RunUntil([&] { return answer.has_value(); });
    return *answer;
  }

  ledger::testing::Scratch scratch_;
  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  Duties duties_;
  std::vector<std::vector<std::string>> asked_;
  int changes_ = 0;
  std::optional<Kubelet> kubelet_;
  std::optional<Endpoint> endpoint_;
};

TEST_F(EndpointTest, RegistersWhileKubeletAsksBack) {
  StartBoth();
  EXPECT_EQ(kubelet_->registered(),
            std::vector<std::string>{RegisterMessage("nvidia-gpu.sock", "nvidia.com/gpu")});
  EXPECT_EQ(changes_, 1);
  EXPECT_NE(lines_.find("registered with kubelet"), std::string::npos) << lines_;
}

TEST_F(EndpointTest, TheSocketIsNamedAfterTheResource) {
  EXPECT_EQ(SocketNameOf("nvidia.com/gpu"), "nvidia-gpu.sock");
  EXPECT_EQ(SocketNameOf("nvidia.com/mig-1g.5gb.shared"), "nvidia-mig-1g.5gb.shared.sock");
}

TEST_F(EndpointTest, AnswersWhatItsOwnerSays) {
  StartBoth();
  const std::string request("\x0a\x07\x0a\x05GPU-a");
  const auto answer = Ask(kAllocate, request);
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  EXPECT_EQ(asked_, (std::vector<std::vector<std::string>>{{"GPU-a"}}));
  EXPECT_EQ(*answer, std::string("\x0a\x0d\x2a\x0b\x0a\x09x/y=GPU-a"));
  const auto preferred = Ask(kPrefer, "\x0a\x09\x0a\x05GPU-a\x18\x01");
  ASSERT_TRUE(preferred.ok()) << preferred.error().ToString();
  EXPECT_EQ(*preferred, request) << "both messages are a list of ids in field 1 of field 1";
  EXPECT_TRUE(Ask(kPreStart, "").ok());
}

TEST_F(EndpointTest, AnErrorReachesKubeletInWords) {
  StartBoth();
  const auto answer = Ask(kAllocate, "\x0a\x07\x0a\x05wrong");
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().ToString().find("unknown device: wrong"), std::string::npos);
  const auto garbage = Ask(kAllocate, "\x0a\x07\x0a");
  ASSERT_FALSE(garbage.ok());
  EXPECT_NE(garbage.error().ToString().find("nvidia.com/gpu: "), std::string::npos)
      << garbage.error().ToString();
}

TEST_F(EndpointTest, WithoutAKubeletItTriesAgainEverMoreSlowly) {
  Make();
  endpoint_->Start();
  loop_.RunUntil([this] { return !lines_.empty(); });
  EXPECT_TRUE(SocketIsThere());
  for (const int pause : {1, 2, 4, 8, 16, 30, 30}) {
    loop_.RunUntil([this] { return !loop_.ArmedTimers().empty(); });
    ASSERT_EQ(loop_.ArmedTimers()[0].first, "register");
    EXPECT_EQ(loop_.ArmedTimers()[0].second, seconds(pause));
    loop_.Advance(seconds(pause));
  }
  EXPECT_EQ(lines_.find("not registered", lines_.find("not registered") + 1), std::string::npos)
      << "once";
}

TEST_F(EndpointTest, AKubeletThatStartsAnewIsRegisteredWithAtOnce) {
  StartBoth();
  kubelet_.emplace(loop_, scratch_.path());
  EXPECT_FALSE(SocketIsThere()) << "it removes them";
  endpoint_->KubeletStarted();
  EXPECT_TRUE(SocketIsThere());
  loop_.RunUntil([this] { return kubelet_->registered().size() == 1 && endpoint_->streaming(); });
}

// kubernetes#121994: the end of an old stream takes the new registration with it.
TEST_F(EndpointTest, AStreamThatEndsIsFollowedByAnotherRegistration) {
  StartBoth();
  kubelet_->LeavesStream();
  loop_.RunUntil([this] { return !endpoint_->streaming(); });
  EXPECT_EQ(changes_, 2);
  EXPECT_EQ(endpoint_->State().Find("streamsLost")->AsUnsigned(), 1);
  loop_.Advance(seconds(1));
  loop_.RunUntil([this] { return kubelet_->registered().size() == 2 && endpoint_->streaming(); });
}

TEST_F(EndpointTest, OnlyAStreamThatLastedIsFollowedByTheFirstPause) {
  StartBoth();
  const auto leave = [this] {
    kubelet_->LeavesStream();
    loop_.RunUntil([this] { return !endpoint_->streaming(); });
    for (const auto& [name, due] : loop_.ArmedTimers())
      if (name == "register") return due;
    return net::Duration::zero();
  };
  for (const int pause : {1, 2, 4}) {
    EXPECT_EQ(leave(), seconds(pause));
    loop_.Advance(seconds(pause));
    loop_.RunUntil([this] { return endpoint_->streaming(); });
  }
  loop_.Advance(seconds(31));
  EXPECT_EQ(leave(), seconds(1));
}

TEST_F(EndpointTest, AKubeletThatRegistersAndDoesNotListenIsAskedAgain) {
  kubelet_.emplace(loop_, scratch_.path());
  kubelet_->Listens(false);
  Make();
  endpoint_->Start();
  loop_.RunUntil([this] { return endpoint_->State().Find("registrations")->AsUnsigned() == 1; });
  kubelet_->Listens(true);
  loop_.Advance(seconds(10));
  loop_.Advance(seconds(1));
  loop_.RunUntil([this] { return endpoint_->streaming(); });
  EXPECT_EQ(kubelet_->registered().size(), 2U);
  EXPECT_NE(lines_.find("does not listen"), std::string::npos);
}

TEST_F(EndpointTest, ARegistrationThatHangsIsGivenUp) {
  kubelet_.emplace(loop_, scratch_.path());
  kubelet_->Hangs(true);
  Make();
  endpoint_->Start();
  loop_.RunUntilIdle();
  loop_.Advance(seconds(5));
  loop_.RunUntil([this] { return lines_.find("not registered") != std::string::npos; });
}

TEST_F(EndpointTest, WhileKubeletIsGoneNothingIsTried) {
  StartBoth();
  kubelet_.reset();
  std::filesystem::remove(scratch_.path() + "/kubelet.sock");
  endpoint_->KubeletGone();
  loop_.RunUntil([this] { return !endpoint_->streaming(); });
  EXPECT_TRUE(loop_.ArmedTimers().empty());
  kubelet_.emplace(loop_, scratch_.path());
  endpoint_->KubeletStarted();
  loop_.RunUntil([this] { return endpoint_->streaming(); });
}

TEST_F(EndpointTest, EveryStreamHearsEachList) {
  StartBoth();
  const auto one = Listen(), other = Listen();
  const std::vector<Listed> first = endpoint_->devices();
  const std::vector<Listed> second = {{"GPU-a", false, 0}, {"GPU-b", true, 0}};
  endpoint_->SetDevices(second);
  const std::string both = Lists(first) + Lists(second);
  loop_.RunUntil([&] { return one->heard() == both && other->heard() == both; });
  EXPECT_EQ(Listen()->heard(), Lists(second)) << "who comes later hears the newest";
}

// A tool of root's, to see what is listed.
TEST_F(EndpointTest, TheEndOfKubeletsStreamIsSeenBesideOthers) {
  StartBoth();
  const auto tool = Listen();
  kubelet_->LeavesStream();
  loop_.RunUntilIdle();
  ASSERT_FALSE(endpoint_->streaming());
  EXPECT_EQ(changes_, 2);
  loop_.Advance(seconds(1));
  loop_.RunUntil([this] { return Registrations() == 2 && endpoint_->streaming(); });
  EXPECT_EQ(tool->heard(), Lists(endpoint_->devices())) << "it listens on";
}

TEST_F(EndpointTest, AStreamBesideKubeletsEndsAndNothingHappens) {
  StartBoth();
  Listen()->Leave();
  loop_.RunUntilIdle();
  EXPECT_TRUE(endpoint_->streaming());
  EXPECT_EQ(endpoint_->State().Find("streamsLost")->AsUnsigned(), 0);
  loop_.Advance(seconds(60));
  EXPECT_EQ(Registrations(), 1U);
  EXPECT_EQ(changes_, 1);
}

TEST_F(EndpointTest, AStreamThatNoRegistrationWasBeforeIsNotKubelets) {
  kubelet_.emplace(loop_, scratch_.path());
  kubelet_->Hangs(true);
  Make();
  endpoint_->Start();
  loop_.RunUntilIdle();
  loop_.Advance(seconds(5));
  loop_.RunUntil([this] { return lines_.find("not registered") != std::string::npos; });
  const auto tool = Listen();
  ASSERT_FALSE(endpoint_->streaming());
  kubelet_->Hangs(false);
  loop_.Advance(seconds(1));
  loop_.RunUntil([this] { return Registrations() == 1 && endpoint_->streaming(); });
}

// One that connects again as soon as the socket is there.
TEST_F(EndpointTest, AToolThatIsQuickerThanKubeletIsNotTakenForIt) {
  kubelet_.emplace(loop_, scratch_.path());
  kubelet_->Hangs(true);
  Make();
  endpoint_->Start();
  const auto tool = Listen();
  EXPECT_FALSE(endpoint_->streaming());
  EXPECT_EQ(changes_, 0);
  kubelet_->GoesOn();
  loop_.RunUntil([this] { return endpoint_->streaming(); });
  kubelet_->LeavesStream();
  loop_.RunUntilIdle();
  EXPECT_FALSE(endpoint_->streaming()) << "the end of kubelet's stream is seen";
  EXPECT_TRUE(WillRegister());
}

TEST_F(EndpointTest, AKubeletThatListensLateIsRegisteredWith) {
  kubelet_.emplace(loop_, scratch_.path());
  GiveUp();
  kubelet_->GoesOn();
  loop_.RunUntil([this] { return TimesListened() == 1; });
  EXPECT_TRUE(endpoint_->streaming());
  loop_.Advance(seconds(60));
  EXPECT_EQ(Registrations(), 1U);
  EXPECT_FALSE(WillRegister());
}

TEST_F(EndpointTest, TheNewestStreamOfKubeletsIsTheOneThatCounts) {
  kubelet_.emplace(loop_, scratch_.path());
  GiveUp();
  loop_.Advance(seconds(1));
  loop_.RunUntilIdle();
  kubelet_->GoesOn();
  kubelet_->GoesOn();
  loop_.RunUntil([this] { return TimesListened() == 2; });
  EXPECT_EQ(changes_, 1);
  kubelet_->LeavesOlderStreams();
  loop_.RunUntilIdle();
  EXPECT_TRUE(endpoint_->streaming());
  EXPECT_EQ(endpoint_->State().Find("streamsLost")->AsUnsigned(), 0);
  kubelet_->LeavesStream();
  loop_.RunUntilIdle();
  EXPECT_FALSE(endpoint_->streaming());
  EXPECT_EQ(changes_, 2);
}

// It hears of a registration that was given up; the next one hangs until it is given up too.
TEST_F(EndpointTest, ARegistrationThatIsGivenUpWhileKubeletListensIsNoFailure) {
  kubelet_.emplace(loop_, scratch_.path());
  GiveUp();
  loop_.Advance(seconds(1));
  loop_.RunUntilIdle();
  kubelet_->GoesOn();
  loop_.RunUntil([this] { return TimesListened() == 1; });
  lines_.clear();
  loop_.Advance(seconds(6));
  loop_.RunUntilIdle();
  EXPECT_TRUE(endpoint_->streaming());
  EXPECT_EQ(lines_.find("not registered"), std::string::npos) << lines_;
  EXPECT_FALSE(WillRegister());
}

// As a process sees it whose kubelet runs in another PID namespace.
TEST_F(EndpointTest, WhereKubeletsPidIsUnknownALateStreamIsItsOwn) {
  kubelet_.emplace(loop_, scratch_.path());
  const int status = InPidNamespace([this] {
    GiveUp();
    const auto tool = Listen();
    if (!endpoint_->streaming()) ADD_FAILURE() << "the first one counts";
    tool->Leave();
    loop_.RunUntil([this] { return !endpoint_->streaming(); });
  });
  if (status == kNoNamespace) GTEST_SKIP() << "no PID namespace can be made here";
  EXPECT_EQ(status, 0);
}

TEST_F(EndpointTest, WhereKubeletsPidIsUnknownItsStreamIsTheFirstAfterARegistration) {
  kubelet_.emplace(loop_, scratch_.path());
  const int status = InPidNamespace([this] {
    Make();
    endpoint_->Start();
    loop_.RunUntil([this] { return endpoint_->streaming(); });
    Listen()->Leave();
    loop_.RunUntilIdle();
    EXPECT_TRUE(endpoint_->streaming());
    EXPECT_EQ(TimesListened(), 1U);
  });
  if (status == kNoNamespace) GTEST_SKIP() << "no PID namespace can be made here";
  EXPECT_EQ(status, 0);
}

TEST_F(EndpointTest, ARegistrationThatWasGivenUpIsNotTakenForTheNext) {
  kubelet_.emplace(loop_, scratch_.path());
  kubelet_->Hangs(true);
  Make();
  endpoint_->Start();
  loop_.RunUntilIdle();
  kubelet_.emplace(loop_, scratch_.path());
  endpoint_->KubeletStarted();
  loop_.RunUntil([this] { return endpoint_->streaming(); });
  loop_.RunUntilIdle();
  EXPECT_EQ(lines_.find("not registered"), std::string::npos) << lines_;
  EXPECT_EQ(endpoint_->State().Find("registrations")->AsUnsigned(), 1);
}

TEST_F(EndpointTest, StopsForGood) {
  StartBoth();
  endpoint_->Stop();
  EXPECT_FALSE(SocketIsThere());
  EXPECT_FALSE(endpoint_->streaming());
  loop_.Advance(seconds(60));
  EXPECT_EQ(kubelet_->registered().size(), 1U);
}

TEST_F(EndpointTest, WithoutAPlaceToRegisterItOnlyServes) {
  endpoint_.emplace(loop_, log_, "nvidia.com/gpu", KubeletPlace{scratch_.path(), ""}, duties_);
  endpoint_->Start();
  loop_.RunUntilIdle();
  EXPECT_TRUE(SocketIsThere());
  EXPECT_TRUE(loop_.ArmedTimers().empty());
}

}  // namespace
}  // namespace partita::service::device_plugin
