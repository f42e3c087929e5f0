#include "service/device_plugin/lately.h"

#include <gtest/gtest.h>

#include "service/device_plugin/testing/node.h"

namespace partita::service::device_plugin {
namespace {

using testing::Lines;

class LatelyTest : public ::testing::Test {
 protected:
  // Another configuration comes into force; whether anything went with it.
  bool Configure(const config::PluginConfig& config) {
    Offered next = testing::OfferAll(node_, config);
    const bool any = KeepForAMoment(lately_, offered_, next);
    offered_ = std::move(next);
    return any;
  }
  // "nvidia.com/gpu: GPU-0 GPU-1" a resource.
  [[nodiscard]] Lines Kept() const {
    Lines lines;
    for (const auto& [resource, devices] : lately_) {
      if (devices.empty()) continue;
      lines.push_back(resource + ":");
      for (const auto& [id, device] : devices) lines.back() += " " + id;
    }
    return lines;
  }
  static config::PluginConfig Sliced(std::uint32_t replicas) {
    config::PluginConfig config;
    config.time_slicing.emplace().resources = {testing::Shared("nvidia.com/gpu", replicas)};
    return config;
  }
  static config::PluginConfig ByMps(std::uint32_t gpus) {
    config::PluginConfig config;
    config.mps.emplace().resources = {testing::Shared("nvidia.com/gpu", 2)};
    config.mps->resources[0].devices = {config::SharedDevices::Kind::kCount, gpus, {}};
    return config;
  }

  model::Inventory node_ = testing::Boards(2);
  Offered offered_;
  Lately lately_;
};

TEST_F(LatelyTest, WhatIsOfferedInAnotherShapeStaysForAMoment) {
  EXPECT_FALSE(Configure({}));
  EXPECT_TRUE(Configure(Sliced(2)));
  EXPECT_EQ(Kept(), Lines{"nvidia.com/gpu: GPU-0 GPU-1"});
  EXPECT_FALSE(Configure(Sliced(3))) << "the same shares, and two more";
  EXPECT_EQ(Kept(), Lines{"nvidia.com/gpu: GPU-0 GPU-1"});
  EXPECT_TRUE(Configure(Sliced(2)));
  EXPECT_EQ(Kept(), Lines{"nvidia.com/gpu: GPU-0 GPU-0::2 GPU-1 GPU-1::2"});
}

TEST_F(LatelyTest, WhatIsOfferedAgainIsNothingThatWent) {
  (void)Configure({});
  (void)Configure(Sliced(2));
  EXPECT_TRUE(Configure({}));
  EXPECT_EQ(Kept(), Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-1::0 GPU-1::1"});
}

TEST_F(LatelyTest, WhatHasAnotherNameStaysUnderTheOneThatItHad) {
  (void)Configure(Sliced(2));
  config::PluginConfig renamed = Sliced(2);
  renamed.time_slicing->resources[0].rename = "nvidia.com/gpu.shared";
  EXPECT_TRUE(Configure(renamed));
  EXPECT_EQ(Kept(), Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-1::0 GPU-1::1"});
}

// Its daemon is about to have the GPU for itself.
TEST_F(LatelyTest, NothingStaysOfAGpuThatIsSharedByMpsFromNowOn) {
  (void)Configure({});
  EXPECT_FALSE(Configure(ByMps(1))) << "GPU-1 is offered as before";
  (void)Configure(Sliced(2));
  EXPECT_TRUE(Configure(ByMps(1)));
  EXPECT_EQ(Kept(), Lines{"nvidia.com/gpu: GPU-1::0 GPU-1::1"});
  EXPECT_FALSE(Configure(ByMps(2)));
  EXPECT_TRUE(Kept().empty());
}

// Its daemon is about to end.
TEST_F(LatelyTest, NoShareOfMpsStays) {
  (void)Configure(ByMps(2));
  EXPECT_FALSE(Configure({}));
  EXPECT_TRUE(Kept().empty());
}

// As where CDI devices do not reach containers.
TEST_F(LatelyTest, NothingStaysWhereNothingIsOffered) {
  (void)Configure({});
  (void)Configure(Sliced(2));
  Offered nothing = offered_;
  for (OfferedResource& resource : nothing.resources) resource.devices.clear();
  EXPECT_FALSE(KeepForAMoment(lately_, offered_, nothing));
  EXPECT_TRUE(Kept().empty());
}

}  // namespace
}  // namespace partita::service::device_plugin
