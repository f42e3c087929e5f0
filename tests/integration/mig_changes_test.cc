// Changes of MIG in the agent, on a simulated machine: the control socket's client on threads of
// its own, the loop's time the test's.
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "agent/control/control_client.h"
#include "agent/control/server.h"
#include "agent/mig_changes.h"
#include "base/files.h"
#include "net/testing/fake_loop.h"
#include "service/mig/change_wire.h"
#include "tests/integration/simulated_machine.h"

namespace partita::integration {
namespace {

using agent::MigChanges;
using agent::control::Client;
using base::ErrorCode;
using base::Result;
using base::Value;
using service::mig::ChangeEnd;
using service::mig::ChangeStatus;
using service::mig::RemoteOrder;

class MigChangesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(work_);
    setenv("PARTITA_RUN_DIR", (work_ + "/run").c_str(), 1);
    setenv("PARTITA_STATE_DIR", (work_ + "/state").c_str(), 1);
    options_.reader = machine_.Options();
    options_.driver = hw::MakeDriver(options_.reader);
    options_.look = [this](const net::Task& done) {
      ++looks_;
      done();
    };
    changes_ = std::make_unique<MigChanges>(loop_, log_);
    changes_->Register(server_);
    ASSERT_TRUE(server_.Listen(Socket()).ok());
  }
  void TearDown() override {
    bool stopped = false;
    changes_->Stop([&] { stopped = true; });
    loop_.RunUntil([&] { return stopped; });
    server_.Stop();
    changes_.reset();
    unsetenv("PARTITA_RUN_DIR");
    unsetenv("PARTITA_STATE_DIR");
  }
  [[nodiscard]] std::string Socket() const { return work_ + "/agent.sock"; }

  // What a peer does, beside the loop, to its end.
  void Beside(const std::function<void()>& peer) {
    std::atomic<bool> done = false;
    std::thread thread([&] {
      peer();
      done = true;
      loop_.Post([] {});
    });
    loop_.RunUntil([&] { return done.load(); });
    thread.join();
  }
  [[nodiscard]] Result<Value> Ask(const std::string& method, const Value& params) const {
    Result<Client> client = Client::Connect(Socket());
    if (!client.ok()) return client.error();
    return client->Call(method, params, {});
  }
  [[nodiscard]] ChangeEnd Changed(const RemoteOrder& order, const std::string& ticket = "") const {
    const Result<Value> answer =
        Ask("mig.change", Value::Map().Set("order", ToWire(order)).Set("ticket", ticket));
    PARTITA_CHECK(answer.ok());
    return service::mig::ChangeEndFromWire(*answer).value();
  }
  ChangeEnd Change(const RemoteOrder& order) {
    ChangeEnd end;
    Beside([&] { end = Changed(order); });
    return end;
  }
  static RemoteOrder Order(const std::string& words) {
    RemoteOrder order;
    order.source.text = words;
    order.command = "partita mig apply";
    order.remember = service::mig::Remember::kNothing;
    return order;
  }
  [[nodiscard]] std::size_t Instances() {
    return hw::InventoryReader(options_.driver, options_.reader)
        .Read()
        .gpus[0]
        .mig->instances.size();
  }

  SimulatedMachine machine_{"h200-vm"};
  const std::string work_ = machine_.root() + "/agent";
  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  agent::control::Server server_{loop_, log_};
  MigChanges::Options options_;
  int looks_ = 0;
  std::unique_ptr<MigChanges> changes_;
};

TEST_F(MigChangesTest, IsDoneAndLookedAtBeforeItIsTold) {
  changes_->Start(options_);
  const ChangeEnd end = Change(Order("1g.18gb:7"));
  EXPECT_TRUE(end.Done()) << (end.error ? end.error->ToString() : "");
  EXPECT_EQ(end.report->after.gpus[0].mig->instances.size(), 7U);
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(changes_->running(), "");
}

TEST_F(MigChangesTest, TheGateIsAskedForEachStepAndToldOfTheEndOnce) {
  std::vector<std::size_t> gated;
  int ended = 0;
  options_.gate = [&](const model::Inventory& node,
                      const std::vector<service::mig::GpuSteps>& steps,
                      const MigChanges::Options::GateAnswer& answer) {
    EXPECT_EQ(node.gpus.size(), 1U);
    gated.push_back(steps.at(0).steps.size());
    answer({});
  };
  options_.ended = [&] {
    EXPECT_EQ(looks_, 1);
    ++ended;
  };
  changes_->Start(options_);
  RemoteOrder order = Order("3g.71gb:2");
  order.in_steps = true;
  EXPECT_TRUE(Change(order).Done());
  EXPECT_EQ(gated, (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ(ended, 1);
  // Nothing is to do: nobody is asked.
  EXPECT_TRUE(Change(order).Done());
  EXPECT_EQ(gated.size(), 2U);
  EXPECT_EQ(ended, 1);
}

TEST_F(MigChangesTest, AGateThatStaysClosedKeepsEverythingAsItIs) {
  options_.gate = [](const model::Inventory&, const std::vector<service::mig::GpuSteps>&,
                     const MigChanges::Options::GateAnswer& answer) {
    answer(base::Error(ErrorCode::kBusy, "GPU 0 is held by pod a/b"));
  };
  options_.ended = [] { FAIL() << "nothing was begun"; };
  changes_->Start(options_);
  const ChangeEnd end = Change(Order("none"));
  EXPECT_EQ(end.status, ChangeStatus::kBlocked);
  EXPECT_EQ(end.error->ToString(), "GPU 0 is held by pod a/b");
}

TEST_F(MigChangesTest, WhatIsPinnedIsInTheLookAndInTheWay) {
  changes_->Start(options_);
  ASSERT_TRUE(Change(Order("1g.18gb:7")).Done());
  bool pin = true;
  options_.pinned = [&](const model::Inventory& node) {
    model::PinnedParts pinned;
    const model::Gpu& gpu = node.gpus[0];
    const model::GpuInstance& first = gpu.mig->instances[0];
    if (pin) pinned.instances[{*gpu.uuid, first.profile, first.placement.start}] = "pod a/b (c)";
    return pinned;
  };
  changes_->Start(options_);
  Beside([&] {
    const Result<Value> look = Ask("mig.look", Value::Map());
    ASSERT_TRUE(look.ok()) << look.error().ToString();
    EXPECT_EQ(service::mig::PlanLookFromWire(*look)->pinned.instances.size(), 1U);
  });
  EXPECT_EQ(Change(Order("none")).status, ChangeStatus::kBlocked);
  EXPECT_EQ(Instances(), 7U);
  pin = false;
  EXPECT_TRUE(Change(Order("none")).Done());
}

// One whose gate answers when the test says so.
struct Held {
  std::vector<MigChanges::Options::GateAnswer> gates;
  void In(MigChanges::Options& options) {
    options.gate = [this](const model::Inventory&, const std::vector<service::mig::GpuSteps>&,
                          const MigChanges::Options::GateAnswer& answer) {
      gates.push_back(answer);
    };
  }
};

TEST_F(MigChangesTest, ASecondIsToldWhoIsAtItOrWaits) {
  Held held;
  held.In(options_);
  changes_->Start(options_);
  ChangeEnd first, third;
  std::thread one([&] { first = Changed(Order("1g.18gb:7")); });
  loop_.RunUntil([&] { return held.gates.size() == 1; });
  const std::string who = "pid " + std::to_string(getpid()) + " (partita mig apply)";
  EXPECT_EQ(changes_->running(), who);
  const ChangeEnd second = Change(Order("none"));
  EXPECT_EQ(second.status, ChangeStatus::kBlocked);
  EXPECT_EQ(second.error->ToString(), who + " is changing this node's GPUs");
  EXPECT_NE(base::ReadFile(work_ + "/run/change.lock")->find("partita agent for " + who),
            std::string::npos);
  Beside([&] { EXPECT_EQ(Ask("mig.look", Value::Map()).error().code(), ErrorCode::kBusy); });

  std::atomic<bool> done = false;
  std::thread two([&] {
    RemoteOrder order = Order("3g.71gb");
    order.wait = true;
    third = Changed(order);
    done = true;
    loop_.Post([] {});
  });
  // Behind the first, which now goes on.
  loop_.RunUntil([&] { return server_.connections() == 2; });
  held.gates[0]({});
  loop_.RunUntil([&] { return held.gates.size() == 2; });
  held.gates[1]({});
  loop_.RunUntil([&] { return done.load(); });
  one.join();
  two.join();
  EXPECT_TRUE(first.Done());
  EXPECT_TRUE(third.Done());
  EXPECT_EQ(Instances(), 1U);
}

TEST_F(MigChangesTest, AStopFromElsewhereEndsTheOneOfItsTicket) {
  Held held;
  held.In(options_);
  changes_->Start(options_);
  ChangeEnd end;
  std::atomic<bool> done = false;
  std::thread one([&] {
    end = Changed(Order("1g.18gb:7"), "mine");
    done = true;
    loop_.Post([] {});
  });
  loop_.RunUntil([&] { return held.gates.size() == 1; });
  Beside([&] {
    EXPECT_EQ(*Ask("mig.stop", Value::Map().Set("ticket", "other"))->Find("stopped"), Value(false));
    EXPECT_EQ(*Ask("mig.stop", Value::Map().Set("ticket", "mine"))->Find("stopped"), Value(true));
  });
  held.gates[0]({});
  loop_.RunUntil([&] { return done.load(); });
  one.join();
  EXPECT_TRUE(end.report->stopped);
  EXPECT_EQ(Instances(), 0U);
}

TEST_F(MigChangesTest, WhatMakesNoSenseIsRefused) {
  changes_->Start(options_);
  Beside([&] {
    EXPECT_EQ(Ask("mig.change", Value::Map()).error().ToString(), "mig.change: order is missing");
    EXPECT_EQ(Ask("mig.change", Value::Map().Set("order", 7U)).error().code(), ErrorCode::kInvalid);
    EXPECT_EQ(Ask("mig.change", Value::Map().Set("order", Value::Map().Set("version", 9U)))
                  .error()
                  .code(),
              ErrorCode::kUnsupported);
    EXPECT_EQ(Ask("mig.boot", Value::Map()).error().ToString(), "mig.boot: choice is missing");
    RemoteOrder order = Order("1g.18gb:x");
    EXPECT_EQ(Ask("mig.change", Value::Map().Set("order", ToWire(order))).error().code(),
              ErrorCode::kInvalid);
  });
  EXPECT_TRUE(Change(Order("none")).Done());
}

TEST_F(MigChangesTest, AnAgentThatStopsEndsTheChangeAndRefusesTheNext) {
  Held held;
  held.In(options_);
  changes_->Start(options_);
  ChangeEnd end;
  std::thread one([&] { end = Changed(Order("1g.18gb:7")); });
  loop_.RunUntil([&] { return held.gates.size() == 1; });
  bool stopped = false;
  changes_->Stop([&] { stopped = true; });
  EXPECT_FALSE(stopped);
  held.gates[0]({});
  loop_.RunUntil([&] { return stopped; });
  one.join();
  EXPECT_TRUE(end.report->stopped);
  const ChangeEnd late = Change(Order("none"));
  EXPECT_EQ(late.error->ToString(), "the agent is stopping: nothing was changed");
}

}  // namespace
}  // namespace partita::integration
