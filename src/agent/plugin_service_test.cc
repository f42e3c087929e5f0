#include "agent/plugin_service.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "model/testing/sample_gpus.h"
#include "net/rpc/channel.h"
#include "net/rpc/server.h"
#include "net/rpc/wire.h"
#include "net/testing/fake_loop.h"
#include "service/device_plugin/messages.h"
#include "service/ledger/testing/scratch.h"

namespace partita::agent {
namespace {

using service::inventory::Snapshot;
using std::chrono::milliseconds;

// Without a kubelet to register with: what it would be shown is in State().
class PluginServiceTest : public ::testing::Test {
 protected:
  PluginServiceTest() {
    options_.config.list_strategies = {config::ListStrategy::kCdiCri};
    options_.kubelet = {scratch_.path(), ""};
    ledger_.Open(scratch_.path());
  }
  void TearDown() override {
    plugin_.Stop();
    (void)ledger_.Close();
  }
  void See(std::uint32_t gpus) {
    Snapshot next;
    next.revision = next.revisions.shape = ++revision_;
    next.inventory.driver.emplace();
    for (std::uint32_t i = 0; i < gpus; ++i) next.inventory.gpus.push_back(model::testing::A100(i));
    seen_ = std::make_shared<const Snapshot>(std::move(next));
    ledger_.Observe(seen_);
    plugin_.SetNode(seen_);
    loop_.Advance(milliseconds(100));
  }
  // "HEALTHY of ALL", of nvidia.com/gpu.
  [[nodiscard]] std::string Shown() const {
    const base::Value state = plugin_.State();
    for (const base::Value& each : state.Find("resources")->items())
      if (each.Find("resource")->AsString() == "nvidia.com/gpu")
        return std::to_string(each.Find("healthy")->AsUnsigned()) + " of " +
               std::to_string(each.Find("devices")->AsUnsigned());
    return "nothing";
  }

  service::ledger::testing::Scratch scratch_;
  net::testing::FakeLoop loop_;
  base::Log log_{loop_.clock(), [](std::string_view) {}};
  LedgerKeeper ledger_{loop_, log_};
  KubeletWatch kubelet_{loop_, log_};
  PluginService plugin_{loop_, log_, ledger_, kubelet_};
  PluginOptions options_;
  service::inventory::SnapshotPtr seen_;
  std::uint64_t revision_ = 0;
};

TEST_F(PluginServiceTest, WhatIsNewWaitsForTheFileThatNamesIt) {
  See(1);
  plugin_.Start(options_);
  EXPECT_EQ(Shown(), "1 of 1");
  plugin_.SetFiles(false, {});
  See(2);
  EXPECT_EQ(Shown(), "1 of 1");
  plugin_.SetFiles(true, {});
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(Shown(), "2 of 2");
}

// Beside pods with shares of one GPU, another GPU of the same domain has its daemon too.
TEST_F(PluginServiceTest, WhatADomainKeepsForItsHoldersIsNotGivenOtherwise) {
  See(2);
  std::map<std::string, std::string> kept;
  // As the agent does: what is kept is known while what is wanted is being told.
  plugin_.OnDomains([&](const auto&, bool) { plugin_.SetDomains({}, kept); });
  kept[seen_->inventory.gpus[1].uuid->value()] = "somebody holds shares of it";
  plugin_.Start(options_);
  EXPECT_EQ(Shown(), "1 of 2");
  kept.clear();
  plugin_.SetDomains({}, kept);
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(Shown(), "2 of 2");
}

TEST_F(PluginServiceTest, WithoutCdiNothingWaits) {
  options_.config.list_strategies = {config::ListStrategy::kEnvvar};
  See(1);
  plugin_.Start(options_);
  plugin_.SetFiles(false, {});
  See(2);
  EXPECT_EQ(Shown(), "2 of 2");
}

TEST_F(PluginServiceTest, WhatIsIllIsToldWhateverTheFilesAre) {
  See(2);
  plugin_.Start(options_);
  plugin_.SetFiles(false, {});
  model::NodeHealth health;
  health.parts.push_back({*seen_->inventory.gpus[1].uuid, std::nullopt, std::nullopt,
                          model::HealthState::kUnhealthy, "GpuLost", "it is gone"});
  plugin_.SetHealth(std::make_shared<const model::NodeHealth>(health));
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(Shown(), "1 of 2");
}

// One that could not be read when the files were written is not in them.
TEST_F(PluginServiceTest, WhatIsWellAgainWaitsForTheFileThatNamesIt) {
  See(2);
  model::NodeHealth health;
  health.parts.push_back({*seen_->inventory.gpus[1].uuid, std::nullopt, std::nullopt,
                          model::HealthState::kUnhealthy, "GpuLost", "it is gone"});
  plugin_.SetHealth(std::make_shared<const model::NodeHealth>(health));
  plugin_.Start(options_);
  ASSERT_EQ(Shown(), "1 of 2");
  plugin_.SetFiles(false, {});
  plugin_.SetHealth(std::make_shared<const model::NodeHealth>());
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(Shown(), "1 of 2");
  plugin_.SetFiles(true, {});
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(Shown(), "2 of 2");
}

TEST_F(PluginServiceTest, WhatItsDaemonKeptBackWaitsForNoFile) {
  See(2);
  const std::map<std::string, std::string> kept = {
      {seen_->inventory.gpus[1].uuid->value(), "somebody holds shares of it"}};
  plugin_.Start(options_);
  plugin_.SetFiles(false, {});
  plugin_.SetDomains({}, kept);
  loop_.Advance(milliseconds(100));
  ASSERT_EQ(Shown(), "1 of 2");
  plugin_.SetDomains({}, {});
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(Shown(), "2 of 2");
}

TEST_F(PluginServiceTest, WithoutCdiInTheEngineNothingIsOffered) {
  options_.config.list_unasked = true;
  plugin_.SetReach(false, "");
  See(2);
  plugin_.Start(options_);
  EXPECT_EQ(Shown(), "nothing") << "nobody has looked yet";
  plugin_.SetReach(true, "CdiDisabled: it is off");
  EXPECT_EQ(Shown(), "nothing");
  EXPECT_EQ(plugin_.disabled(), "CdiDisabled: it is off");
  const base::Value state = plugin_.State();
  ASSERT_EQ(state.Find("problems")->items().size(), 1U);
  EXPECT_EQ(state.Find("problems")->items()[0].AsString(), "CdiDisabled: it is off");
  plugin_.SetReach(true, "");
  EXPECT_EQ(Shown(), "2 of 2");
  EXPECT_EQ(plugin_.disabled(), "");
  plugin_.SetReach(true, "CdiDisabled: it is off again");
  EXPECT_EQ(Shown(), "0 of 2") << "a pod may be about to get one";
}

TEST_F(PluginServiceTest, AStrategyThatSomebodyChoseIsObeyed) {
  plugin_.SetReach(true, "CdiDisabled: it is off");
  See(2);
  plugin_.Start(options_);
  EXPECT_EQ(Shown(), "2 of 2");
  EXPECT_EQ(plugin_.disabled(), "");
  options_.config.list_unasked = true;
  options_.config.list_strategies = {config::ListStrategy::kEnvvar};
  plugin_.SetOptions(options_);
  EXPECT_EQ(Shown(), "2 of 2");
}

TEST_F(PluginServiceTest, AChannelThatMustBeThereAndIsNotLeavesNothingToOffer) {
  options_.config.imex_channels = {0};
  options_.config.imex_required = true;
  options_.dev_root = scratch_.path();
  See(1);
  plugin_.Start(options_);
  EXPECT_EQ(Shown(), "nothing");
  const base::Value state = plugin_.State();
  ASSERT_EQ(state.Find("problems")->items().size(), 1U);
  EXPECT_EQ(state.Find("problems")->items()[0].AsString(),
            "/dev/nvidia-caps-imex-channels/channel0 does not exist, and imex.required is true");
}

// A daemon would make its GPU exclusive, and nobody could be its client. One that runs has some.
TEST_F(PluginServiceTest, WhatIsNotOfferedNeedsNoDaemon) {
  options_.config.list_unasked = true;
  config::SharedResource shared;
  shared.name = "nvidia.com/gpu";
  shared.replicas = 2;
  options_.config.mps.emplace().resources = {shared};
  std::vector<std::string> wanted;
  plugin_.OnDomains([&](const std::vector<service::mps::Domain>& domains, bool complete) {
    wanted.push_back(std::to_string(domains.size()) + (complete ? ", all" : ""));
  });
  plugin_.SetReach(true, "CdiDisabled: it is off");
  See(1);
  plugin_.Start(options_);
  EXPECT_EQ(wanted, std::vector<std::string>{"0"});
  wanted.clear();
  plugin_.SetReach(true, "");
  EXPECT_EQ(wanted, std::vector<std::string>{"1, all"});
  wanted.clear();
  options_.config.imex_channels = {0};
  options_.config.imex_required = true;
  options_.dev_root = scratch_.path();
  plugin_.SetOptions(options_);
  EXPECT_EQ(wanted, std::vector<std::string>{"0"});
}

// Whatever it is about: what kubelet gives by the list that it has.
class PluginAllocateTest : public PluginServiceTest {
 protected:
  PluginAllocateTest() {
    See(2);
    plugin_.Start(options_);
    loop_.RunUntilIdle();
  }
  // From now on there are so many shares of each GPU.
  void ShareEach(std::uint32_t replicas) {
    config::SharedResource shared;
    shared.name = "nvidia.com/gpu";
    shared.replicas = replicas;
    options_.config.time_slicing.emplace().resources = {shared};
    plugin_.SetOptions(options_);
  }
  [[nodiscard]] std::string Gpu(std::size_t index) const {
    return seen_->inventory.gpus[index].uuid->value();
  }
  // What one container gets for these, or why not.
  base::Result<std::string> Allocate(const std::vector<std::string>& ids) {
    std::string container;
    for (const std::string& id : ids) container += net::rpc::WireWriter().Text(1, id).Take();
    std::optional<base::Result<std::string>> answered;
    channel_.Call(std::string(service::device_plugin::kAllocate),
                  net::rpc::WireWriter().Message(1, container).Take(), std::chrono::seconds(5),
                  [&](const base::Result<std::string>& answer) { answered = answer; });
    loop_.RunUntil([&] { return answered.has_value(); });
    return *answered;
  }

  net::rpc::Channel channel_{loop_, "kubelet", scratch_.path() + "/nvidia-gpu.sock"};
};

// It admitted a pod by the list before, which it had until now.
TEST_F(PluginAllocateTest, WhatKubeletGivesBeforeItHearsOfAnotherShapeIsGiven) {
  ShareEach(2);
  const base::Result<std::string> answer = Allocate({Gpu(0)});
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  EXPECT_NE(answer->find(Gpu(0)), std::string::npos);
  EXPECT_EQ(ledger_.state()->holds.size(), 1U);
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(Shown(), "2 of 6")
      << "the shares of the other GPU: nobody else gets a part of this one";
}

TEST_F(PluginAllocateTest, WhatMeetsWhatIsGivenSinceIsRefused) {
  ShareEach(2);
  ASSERT_TRUE(Allocate({Gpu(0) + "::1"}).ok());
  const base::Result<std::string> answer = Allocate({Gpu(0)});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message().find("unknown device"), std::string::npos)
      << answer.error().message();
  EXPECT_EQ(ledger_.state()->holds.size(), 1U);
}

TEST_F(PluginAllocateTest, WhatWentASecondAgoIsKnownToNobody) {
  ShareEach(2);
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_FALSE(Allocate({Gpu(0)}).ok());
  EXPECT_TRUE(ledger_.state()->holds.empty());
}

TEST_F(PluginAllocateTest, WhatTheMachineHasNoMoreIsNotGiven) {
  See(1);
  EXPECT_FALSE(Allocate({model::testing::A100(1).uuid->value()}).ok());
  // Nor what went a moment before another GPU did.
  See(2);
  ShareEach(2);
  ASSERT_TRUE(Allocate({Gpu(0)}).ok());
  See(1);
  EXPECT_FALSE(Allocate({Gpu(0)}).ok());
}

TEST_F(PluginAllocateTest, WhereNothingIsOfferedNothingIsGiven) {
  options_.config.imex_channels = {0};
  options_.config.imex_required = true;
  options_.dev_root = scratch_.path();
  plugin_.SetOptions(options_);
  EXPECT_FALSE(Allocate({Gpu(0)}).ok());
}

// With a kubelet whose PodResources the test answers.
class PluginPodsTest : public PluginServiceTest {
 protected:
  PluginPodsTest() {
    PARTITA_CHECK(socket_.Listen(scratch_.path() + "/kubelet.sock").ok());
    kubelet_.Start(scratch_.path() + "/kubelet.sock");
    options_.pod_resources = Serve(first_, "first.sock");
    ledger_.HoldersOwed([this] { return !knows_pods_ && plugin_.awaits_pods(); });
  }
  // kubelet can be told of it: without a place to register, serving is all there is.
  [[nodiscard]] bool Serves() const { return base::Exists(scratch_.path() + "/nvidia-gpu.sock"); }
  std::string Serve(net::rpc::Server& server, const std::string& name) {
    server.OnCall(std::string(service::device_plugin::kListPods),
                  [this](const std::shared_ptr<net::rpc::Call>& call) { calls_.push_back(call); });
    PARTITA_CHECK(server.Listen(scratch_.path() + "/" + name).ok());
    return scratch_.path() + "/" + name;
  }
  void Asked(std::size_t times) {
    loop_.RunUntil([&] { return calls_.size() == times; });
  }
  // A pod with one device of nvidia.com/gpu, as PodResources lists it.
  static std::string PodWith(const std::string& id) {
    const std::string devices =
        net::rpc::WireWriter().Text(1, "nvidia.com/gpu").Element(2, id).Take();
    const std::string container = net::rpc::WireWriter().Text(1, "main").Message(2, devices).Take();
    const std::string pod =
        net::rpc::WireWriter().Text(1, "train").Text(2, "default").Message(3, container).Take();
    return net::rpc::WireWriter().Message(1, pod).Take();
  }

  net::rpc::Server socket_{loop_, "kubelet"};
  net::rpc::Server first_{loop_, "first"}, second_{loop_, "second"};
  std::vector<std::shared_ptr<net::rpc::Call>> calls_;
  bool knows_pods_ = false;
};

TEST_F(PluginPodsTest, AnotherPlaceIsAskedAlsoWhereTheFirstNeverAnswered) {
  See(2);
  plugin_.Start(options_);
  Asked(1);
  options_.pod_resources = Serve(second_, "second.sock");
  plugin_.SetOptions(options_);
  Asked(2);
  EXPECT_TRUE(plugin_.awaits_pods());
  calls_[1]->Finish(PodWith(seen_->inventory.gpus[0].uuid->value()));
  loop_.RunUntil([&] { return !plugin_.awaits_pods(); });
  EXPECT_EQ(ledger_.state()->holds.size(), 1U);
}

// As after NVIDIA's plugin, or a ledger that was lost, under another configuration.
TEST_F(PluginPodsTest, AGpuThatAPodHasAShareOfIsNotOfferedWhole) {
  See(2);
  plugin_.Start(options_);
  Asked(1);
  loop_.RunUntilIdle();
  EXPECT_FALSE(Serves()) << "kubelet could give it to another meanwhile";
  calls_[0]->Finish(PodWith(seen_->inventory.gpus[0].uuid->value() + "::3"));
  loop_.RunUntil([&] { return !plugin_.awaits_pods(); });
  EXPECT_EQ(Shown(), "1 of 3") << "the GPU, and the share that the pod has, are not for others";
  EXPECT_TRUE(Serves());
}

// What the one before it answered says nothing of what this one gave meanwhile.
TEST_F(PluginPodsTest, AKubeletThatStartsAnewHasToSayAgainWhoHoldsWhat) {
  See(2);
  plugin_.Start(options_);
  Asked(1);
  calls_[0]->Finish(std::string());
  loop_.RunUntil([&] { return !plugin_.awaits_pods(); });
  socket_.Stop();
  loop_.RunUntil([&] { return !kubelet_.present(); });
  ASSERT_TRUE(socket_.Listen(scratch_.path() + "/kubelet.sock").ok());
  loop_.RunUntil([&] { return kubelet_.present(); });
  EXPECT_TRUE(plugin_.awaits_pods());
}

// As where the agent's package is installed beside a kubelet that is stopped.
TEST_F(PluginPodsTest, AKubeletThatComesAfterUsSaysFirstWhoHoldsWhat) {
  options_.kubelet.socket = scratch_.path() + "/kubelet.sock";
  socket_.Stop();
  loop_.RunUntil([&] { return !kubelet_.present(); });
  See(2);
  plugin_.Start(options_);
  loop_.RunUntilIdle();
  ASSERT_TRUE(socket_.Listen(scratch_.path() + "/kubelet.sock").ok());
  Asked(1);
  loop_.RunUntilIdle();
  EXPECT_FALSE(Serves());
  calls_[0]->Finish(PodWith(seen_->inventory.gpus[0].uuid->value() + "::3"));
  loop_.RunUntil([&] { return Serves(); });
  EXPECT_EQ(Shown(), "1 of 3");
  // It has been heard: what the ledger knows since then is enough for another.
  socket_.Stop();
  loop_.RunUntil([&] { return !kubelet_.present(); });
  ASSERT_TRUE(socket_.Listen(scratch_.path() + "/kubelet.sock").ok());
  loop_.RunUntil([&] { return kubelet_.present(); });
  loop_.RunUntilIdle();
  EXPECT_TRUE(Serves());
  EXPECT_EQ(calls_.size(), 1U);
}

// It listens for plugins before it answers questions.
TEST_F(PluginPodsTest, AKubeletThatComesAfterUsIsAskedUntilItListens) {
  options_.kubelet.socket = scratch_.path() + "/kubelet.sock";
  socket_.Stop();
  first_.Stop();
  loop_.RunUntil([&] { return !kubelet_.present(); });
  See(2);
  plugin_.Start(options_);
  ASSERT_TRUE(socket_.Listen(scratch_.path() + "/kubelet.sock").ok());
  loop_.RunUntil([&] { return kubelet_.present(); });
  for (int i = 0; i < 10; ++i) loop_.Advance(milliseconds(50));
  EXPECT_FALSE(Serves());
  Serve(first_, "first.sock");
  loop_.Advance(milliseconds(50));
  Asked(1);
  calls_[0]->Finish(std::string());
  loop_.RunUntil([&] { return Serves(); });
}

TEST_F(PluginPodsTest, WhoeverWantsToKnowDuringAnAnswerIsToldSoonAfterIt) {
  See(2);
  plugin_.Start(options_);
  Asked(1);
  plugin_.SetDomains({}, {{seen_->inventory.gpus[1].uuid->value(), "somebody holds shares of it"}});
  calls_[0]->Finish(std::string());
  loop_.RunUntil([&] { return !plugin_.awaits_pods(); });
  net::Duration next{};
  for (const auto& [name, due] : loop_.ArmedTimers())
    if (name == "pod-resources") next = due;
  EXPECT_EQ(next, std::chrono::seconds(1)) << "what was answered may be from before";
}

TEST_F(PluginPodsTest, AKubeletThatDoesNotSayWhoHoldsWhatIsNotWaitedForLong) {
  See(2);
  plugin_.Start(options_);
  Asked(1);
  loop_.Advance(milliseconds(999));
  EXPECT_FALSE(Serves());
  loop_.Advance(milliseconds(1));
  EXPECT_TRUE(Serves());
}

TEST_F(PluginPodsTest, AKubeletThatNobodyCanAskIsNotWaitedForAtAll) {
  See(2);
  options_.pod_resources = scratch_.path() + "/nothing.sock";
  plugin_.Start(options_);
  loop_.RunUntil([&] { return Serves(); });
}

TEST_F(PluginPodsTest, ALedgerThatKnowsItsPodsWaitsForNobody) {
  knows_pods_ = true;
  See(2);
  plugin_.Start(options_);
  loop_.RunUntil([&] { return Serves(); });
  EXPECT_TRUE(plugin_.awaits_pods());
}

}  // namespace
}  // namespace partita::agent
