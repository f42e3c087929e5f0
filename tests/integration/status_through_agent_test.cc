// `partita status` with something at the agent's socket: the client of the program against the
// agent's own server, on a fake loop.
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "agent/control/server.h"
#include "base/files.h"
#include "cli/status/draw_status.h"
#include "cli/status/node_source.h"
#include "cli/status/status_document.h"
#include "model/inventory_wire.h"
#include "model/testing/sample_inventories.h"
#include "net/testing/fake_loop.h"

namespace partita::cli {
namespace {

using agent::control::Call;
using base::Value;

class StatusThroughAgent : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-status-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    const auto listening = server_.Listen(socket());
    ASSERT_TRUE(listening.ok()) << listening.error().ToString();
  }
  void TearDown() override {
    server_.Stop();
    (void)base::RemoveTree(directory_);
  }

  [[nodiscard]] std::string socket() const { return directory_ + "/agent.sock"; }
  // An own look finds a node that no agent here has.
  [[nodiscard]] NodeSource Source(std::chrono::milliseconds patience = std::chrono::minutes(1)) {
    return {NodeSource::Agent{socket(), patience}, [this] {
              ++own_looks_;
              return model::testing::VfioNode().inventory;
            }};
  }
  void Answer(const base::Result<Value>& answer) {
    server_.Register("status", [this, answer](const std::shared_ptr<Call>& call) {
      asked_.push_back(call->params());
      call->Finish(answer);
    });
  }
  static Value Whole(const model::Inventory& inventory, Value stale = Value::Map()) {
    return Value::Map().Set("inventory", model::ToWire(inventory)).Set("stale", std::move(stale));
  }

  // A look on a thread of its own, beside the loop; what it warned of is in warned_.
  NodeLook Look(NodeSource& source) {
    NodeLook look;
    std::atomic<bool> done = false;
    ::testing::internal::CaptureStderr();
    std::thread thread([&] {
      look = source.Look();
      done = true;
      loop_.Post([] {});
    });
    loop_.RunUntil([&] { return done.load(); });
    thread.join();
    warned_ = ::testing::internal::GetCapturedStderr();
    return look;
  }
  // It looked itself, and said why; the next time it does so without a word.
  void ExpectGivesUp(NodeSource source, const std::string& warning) {
    EXPECT_EQ(Look(source).inventory, model::testing::VfioNode().inventory);
    EXPECT_EQ(warned_, "partita: warning: " + warning + "; looked without the agent\n");
    EXPECT_EQ(own_looks_, 1);
    const std::size_t asked = asked_.size();
    EXPECT_EQ(Look(source).inventory, model::testing::VfioNode().inventory);
    EXPECT_EQ(warned_, "");
    EXPECT_EQ(asked_.size(), asked);
  }

  std::string directory_;
  net::testing::FakeLoop loop_;
  base::Log log_{loop_.clock(), [](std::string_view) {}};
  agent::control::Server server_{loop_, log_};
  std::vector<Value> asked_;
  int own_looks_ = 0;
  std::string warned_;
};

TEST_F(StatusThroughAgent, DrawsTheSame) {
  model::NodeReport (*const nodes[])() = {
      model::testing::H200Idle,      model::testing::DgxA100Mixed,  model::testing::DgxA100Full,
      model::testing::MixedProducts, model::testing::FaultyNode,    model::testing::NoDriver,
      model::testing::HostileNames,  model::testing::KubernetesNode};
  for (model::NodeReport (*node)() : nodes) {
    const model::NodeReport direct = node();
    SCOPED_TRACE(direct.host);
    Answer(Whole(direct.inventory));
    NodeSource source = Source();
    model::NodeReport through = direct;
    through.inventory = {};
    NodeLook look = Look(source);
    through.inventory = std::move(look.inventory);
    through.stale = std::move(look.stale);
    EXPECT_EQ(through.inventory, direct.inventory);
    EXPECT_EQ(ToString(DrawStatus(through, true, {}), false),
              ToString(DrawStatus(direct, true, {}), false));
    EXPECT_EQ(base::ToJson(StatusDocument(through)), base::ToJson(StatusDocument(direct)));
    EXPECT_EQ(warned_, "");
  }
  EXPECT_EQ(asked_, std::vector<Value>(std::size(nodes), Value::Map().Set("parts", "all")));
  EXPECT_EQ(own_looks_, 0);
}

TEST_F(StatusThroughAgent, AsksAnewEachTime) {
  NodeSource source = Source();
  Answer(Whole(model::testing::H200Idle().inventory));
  EXPECT_EQ(Look(source).inventory, model::testing::H200Idle().inventory);
  Answer(Whole(model::testing::FaultyNode().inventory));
  EXPECT_EQ(Look(source).inventory, model::testing::FaultyNode().inventory);
  EXPECT_EQ(own_looks_, 0);
}

TEST_F(StatusThroughAgent, SaysHowOldAGpuIs) {
  model::NodeReport report = model::testing::DgxA100Mixed();
  const model::PciAddress first = report.inventory.gpus[0].pci,
                          second = report.inventory.gpus[1].pci;
  Answer(Whole(report.inventory,
               Value::Map()
                   .Set(first.ToString(), Value::Map().Set("seconds", 12U).Set("why", "it hangs"))
                   .Set(second.ToString(), Value::Map().Set("why", "it woke up late"))));
  NodeSource source = Source();
  report.stale = Look(source).stale;
  EXPECT_EQ(report.stale, (model::StaleGpus{{first, {12, "it hangs"}},
                                            {second, {std::nullopt, "it woke up late"}}}));
}

// Nobody runs: no warning, and asked again the next time.
TEST_F(StatusThroughAgent, LooksItselfWhereNoAgentRuns) {
  server_.Stop();
  NodeSource source = Source();
  EXPECT_EQ(Look(source).inventory, model::testing::VfioNode().inventory);
  EXPECT_EQ(warned_, "");
  ASSERT_TRUE(server_.Listen(socket()).ok());
  Answer(Whole(model::testing::H200Idle().inventory));
  EXPECT_EQ(Look(source).inventory, model::testing::H200Idle().inventory);
}

TEST_F(StatusThroughAgent, LooksItselfWhenTheAgentIsSilent) {
  std::vector<std::shared_ptr<Call>> held;
  server_.Register("status", [&](std::shared_ptr<Call> call) { held.push_back(std::move(call)); });
  ExpectGivesUp(Source(std::chrono::milliseconds(1)),
                "the agent does not answer (`systemctl status partita-agent` and its log say what "
                "it does)");
}

TEST_F(StatusThroughAgent, LooksItselfWhenTheAgentRefuses) {
  Answer(base::Error(base::ErrorCode::kBusy, "it stops").WithHint("later"));
  ExpectGivesUp(Source(), "it stops (later)");
}

TEST_F(StatusThroughAgent, LooksItselfWhenTheAgentIsOfAnotherVersion) {
  Answer(Value::Map().Set("inventory", Value::Map().Set("version", 99U)));
  ExpectGivesUp(
      Source(),
      "the agent's answer: an inventory of version 99, and 2 is known here (the agent and "
      "this command are of different versions: restart the agent)");
}

TEST_F(StatusThroughAgent, LooksItselfWhenTheAnswerMakesNoSense) {
  Answer(Value::Map());
  ExpectGivesUp(Source(), "the agent's answer: inventory is missing");
}

TEST(StatusAnswer, SaysWhereSomethingIsWrong) {
  const Value node = model::ToWire({});
  const auto error = [&](const Value& stale) {
    return ReadStatusAnswer(Value::Map().Set("inventory", node).Set("stale", stale))
        .error()
        .ToString();
  };
  EXPECT_EQ(error(Value::List()), "stale: it is not a map");
  EXPECT_EQ(error(Value::Map().Set("x", 1U)), "stale: \"x\" is not a PCI address");
  EXPECT_EQ(error(Value::Map().Set("0000:07:00.0", 1U)), "stale: 0000:07:00.0: why is not a text");
  EXPECT_EQ(
      error(Value::Map().Set("0000:07:00.0", Value::Map().Set("why", "").Set("seconds", "long"))),
      "stale: 0000:07:00.0: seconds is not a whole number");
  EXPECT_FALSE(ReadStatusAnswer(Value("x")).ok());
}

TEST(MayAskAgent, OnlyOfThisMachineAsItIs) {
  EXPECT_TRUE(MayAskAgent({}));
  service::inventory::ReaderOptions root, driver, library;
  root.root = "/host";
  driver.driver_root = "/run/nvidia/driver";
  library.library = "/tmp/libnvidia-ml.so.1";
  EXPECT_FALSE(MayAskAgent(root));
  EXPECT_FALSE(MayAskAgent(driver));
  EXPECT_FALSE(MayAskAgent(library));
}

}  // namespace
}  // namespace partita::cli
