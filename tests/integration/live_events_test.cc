// What the driver's events say of simulated machines, on the loop.

#include "hw/nvml/events.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "sim/state/life.h"
#include "tests/integration/live_fixture.h"

namespace partita::integration {
namespace {

using namespace std::chrono_literals;

class EventsTest : public LiveTest {
 protected:
  EventsTest()
      : LiveTest(60s),  // nothing here is late
        events_(
            *driver_,
            {.event = [this](const auto& event) { Post([=, this] { heard_.push_back(event); }); },
             .driver_moved = [this] { Post([this] { ++moved_; }); },
             .begun = [this](
                          std::uint64_t,
                          auto unmonitored) { Post([=, this] { begun_ = unmonitored.size(); }); },
             .ended = [this](auto end, auto) { Post([=, this] { ended_ = end; }); }},
            10ms) {}
  void Post(net::Task task) { loop_.Post(std::move(task)); }
  [[nodiscard]] std::vector<model::PciAddress> All() const {
    std::vector<model::PciAddress> all;
    for (const model::Gpu& gpu : live_->current()->inventory.gpus) all.push_back(gpu.pci);
    return all;
  }
  void Start() {
    Settle();
    events_.Start(All());
    loop_.RunUntil([&] { return begun_.has_value(); });
  }

  std::vector<hw::nvml::Event> heard_;
  int moved_ = 0;
  std::optional<std::size_t> begun_;
  std::optional<hw::nvml::Events::End> ended_;
  hw::nvml::Events events_;
};

TEST_F(EventsTest, HearsAnXidOfItsGpuAndInstance) {
  Start();
  EXPECT_EQ(begun_, 0U);
  machine_.Change([](const sim::Machine&, sim::Slot& slot) {
    sim::AddXid(slot, 4, 79, sim::kNone, sim::kNone);
    sim::AddXid(slot, 5, 43, 1, 0);
  });
  loop_.RunUntil([&] { return heard_.size() == 2; });
  EXPECT_EQ(heard_[0], (hw::nvml::Event{hw::nvml::EventKind::kXid, Gpu(4).pci, 79, std::nullopt,
                                        std::nullopt}));
  EXPECT_EQ(heard_[1], (hw::nvml::Event{hw::nvml::EventKind::kXid, Gpu(5).pci, 43,
                                        model::GpuInstanceId(1), model::ComputeInstanceId(0)}));
}

void Drive(SimulatedMachine& machine, std::uint32_t gpu, sim::PciDriver driver) {
  machine.Change([=](const sim::Machine&, sim::Slot& slot) {
    const sim::PciDriver before = slot.gpus[gpu].pci_driver;
    slot.gpus[gpu].pci_driver = driver;
    sim::TellOfDriver(slot, gpu, before);
  });
}

TEST_F(EventsTest, HearsThatTheDriverLostAGpuAndGotIt) {
  Start();
  Drive(machine_, 4, sim::PciDriver::kVfio);
  loop_.RunUntil([&] { return moved_ == 1; });
  Drive(machine_, 4, sim::PciDriver::kNvidia);
  loop_.RunUntil([&] { return moved_ == 2; });
  EXPECT_TRUE(heard_.empty());
  EXPECT_FALSE(ended_.has_value());
}

TEST_F(EventsTest, HearsSystemEventsInTheNextSessionToo) {
  Start();
  std::optional<bool> closed;
  driver_->SubmitReopen(
      5s, [&](const base::Result<void>& end) { Post([&closed, ok = end.ok()] { closed = ok; }); });
  loop_.RunUntil([&] { return closed.has_value() && ended_.has_value(); });
  begun_.reset();
  events_.Start(All());
  loop_.RunUntil([&] { return begun_.has_value(); });
  Drive(machine_, 4, sim::PciDriver::kVfio);
  loop_.RunUntil([&] { return moved_ == 1; });
}

TEST_F(EventsTest, EndsWhereTheDriverLetsNobodyWait) {
  Start();
  machine_.FailCall("nvmlEventSetWait", sim::kNone, hw::nvml::NVML_ERROR_UNKNOWN);
  loop_.RunUntil([&] { return ended_.has_value(); });
  EXPECT_EQ(ended_, hw::nvml::Events::End::kFailed);
}

// As on a driver that has none, or has given its one registration away.
TEST_F(EventsTest, GoesWithoutSystemEventsWhereThereAreNone) {
  for (const char* call :
       {"nvmlSystemEventSetCreate", "nvmlSystemRegisterEvents", "nvmlSystemEventSetWait"}) {
    machine_.FailCall(call, sim::kNone, hw::nvml::NVML_ERROR_UNKNOWN);
    begun_.reset();
    ended_.reset();
    heard_.clear();
    Start();
    machine_.Change([](const sim::Machine&, sim::Slot& slot) {
      sim::AddXid(slot, 4, 79, sim::kNone, sim::kNone);
    });
    loop_.RunUntil([&] { return heard_.size() == 1; });
    machine_.ClearCallFaults();
    events_.Stop();
    loop_.RunUntil([&] { return ended_.has_value(); });
    EXPECT_EQ(ended_, hw::nvml::Events::End::kReleased) << call;
  }
  EXPECT_EQ(moved_, 0);
}

// Somebody may begin to wait for the session's end while the set of events is being made in it.
TEST_F(EventsTest, BeginsInNoSessionThatIsToClose) {
  Settle();
  bool wanted = false;
  auto probe = driver_->ShareSession("probe", [&] { Post([&wanted] { wanted = true; }); });
  ASSERT_NE(probe, nullptr);
  machine_.HangCall("nvmlEventSetCreate", sim::kNone);
  events_.Start(All());
  const auto is_made = [&] {
    const std::vector<hw::nvml::CallAt> running = driver_->Running();
    return running.size() == 1 && running[0].function == "nvmlEventSetCreate";
  };
  WaitFor("the set of events to be in the making", is_made);
  std::optional<bool> closed;
  driver_->SubmitReopen(
      60s, [&](const base::Result<void>& end) { Post([&closed, ok = end.ok()] { closed = ok; }); });
  loop_.RunUntil([&] { return wanted; });
  machine_.ClearCallFaults();
  probe.reset();
  loop_.RunUntil([&] { return closed.has_value() && ended_.has_value(); });
  EXPECT_TRUE(*closed);
  EXPECT_EQ(ended_, hw::nvml::Events::End::kReleased);
  EXPECT_FALSE(begun_.has_value());
}

TEST_F(EventsTest, LetsTheSessionGoWhenItMustClose) {
  Start();
  std::optional<bool> closed;
  driver_->SubmitReopen(
      5s, [&](const base::Result<void>& end) { Post([&closed, ok = end.ok()] { closed = ok; }); });
  loop_.RunUntil([&] { return closed.has_value() && ended_.has_value(); });
  EXPECT_TRUE(*closed);
  EXPECT_EQ(ended_, hw::nvml::Events::End::kReleased);

  begun_.reset();
  ended_.reset();
  events_.Start(All());
  loop_.RunUntil([&] { return begun_.has_value(); });
  EXPECT_FALSE(ended_.has_value());
}

}  // namespace
}  // namespace partita::integration
