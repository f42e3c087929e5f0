// Sessions of the driver's library, with the simulator's as the driver.

#include "hw/nvml/session.h"

#include <gtest/gtest.h>

#include "tests/integration/simulated_machine.h"

namespace partita::integration {
namespace {

using hw::nvml::CallWatch;
using hw::nvml::DeviceHandle;
using hw::nvml::Library;
using hw::nvml::Session;

constexpr std::chrono::hours kAnHour(1);

std::shared_ptr<Session> Open(std::uint64_t generation, CallWatch& watch) {
  base::Result<std::shared_ptr<const Library>> library =
      Library::Open({.path = PARTITA_SIM_LIBRARY, .driver_root = "/"});
  PARTITA_CHECK(library.ok());
  base::Result<std::shared_ptr<Session>> session =
      Session::Open(*std::move(library), generation, kAnHour, watch);
  PARTITA_CHECK(session.ok());
  return *std::move(session);
}

TEST(Session, HandlesOfAnEarlierSessionAreStale) {
  const SimulatedMachine machine("h200-vm");
  CallWatch watch(kAnHour);
  const std::shared_ptr<Session> first = Open(1, watch);
  const base::Result<DeviceHandle> handle = first->FindDevice(model::GpuIndex(0), watch);
  ASSERT_TRUE(handle.ok());
  EXPECT_TRUE(first->Use(*handle).ok());
  first->Close(watch);
  const base::Result<hw::nvml::nvmlDevice_t> closed = first->Use(*handle);
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code(), base::ErrorCode::kUnavailable);

  const std::shared_ptr<Session> second = Open(2, watch);
  const base::Result<hw::nvml::nvmlDevice_t> stale = second->Use(*handle);
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(stale.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_EQ(stale.error().ToString(), "the GPU's handle is of driver session 1, which is over");
  second->Close(watch);
}

TEST(Session, FindsTheSameGpuByIndexAndByAddress) {
  const SimulatedMachine machine("mixed");
  CallWatch watch(kAnHour);
  const std::shared_ptr<Session> session = Open(1, watch);
  const sim::PciFunction& pci = machine.board(1).pci;
  const base::Result<DeviceHandle> by_index = session->FindDevice(model::GpuIndex(1), watch);
  const base::Result<DeviceHandle> by_address =
      session->FindDevice(model::PciAddress{.domain = pci.domain,
                                            .bus = static_cast<std::uint8_t>(pci.bus),
                                            .device = static_cast<std::uint8_t>(pci.device),
                                            .function = 0},
                          watch);
  ASSERT_TRUE(by_index.ok());
  ASSERT_TRUE(by_address.ok());
  EXPECT_EQ(*by_index, *by_address);
  EXPECT_EQ(session->FindDevice(model::GpuIndex(3), watch).error().code(),
            base::ErrorCode::kInvalid);
  session->Close(watch);
}

TEST(Session, SaysWhyItDidNotOpen) {
  SimulatedMachine machine("h200-vm");
  machine.Change([](const sim::Machine&, sim::Slot& slot) { slot.driver_loaded = 0; });
  CallWatch watch(kAnHour);
  base::Result<std::shared_ptr<const Library>> library =
      Library::Open({.path = PARTITA_SIM_LIBRARY, .driver_root = "/"});
  ASSERT_TRUE(library.ok());
  const base::Result<std::shared_ptr<Session>> session =
      Session::Open(*std::move(library), 1, kAnHour, watch);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().ToString(), "nvmlInit_v2: Driver Not Loaded (NVML 9)");
  EXPECT_EQ(session.error().hint(),
            "load the kernel module (modprobe nvidia) and see the kernel log");
}

}  // namespace
}  // namespace partita::integration
