#include "service/ledger/state.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace partita::service::ledger {
namespace {

// Names that begin alike, and some that look like addresses.
constexpr const char* kNearGpus[] = {"GPU-a", "GPU-ab", "GPU-b", "GPU", "abcd", "0000", "f"};

WholeGpu NearGpu(std::mt19937& random) {
  return {model::GpuUuid(kNearGpus[random() % std::size(kNearGpus)]),
          model::PciAddress{random() % 2 == 0 ? 0U : 0xfeedU, static_cast<std::uint8_t>(random()),
                            static_cast<std::uint8_t>(random() % 32), 0}};
}

MigDevice NearMig(std::mt19937& random) {
  return {NearGpu(random),
          model::ProfileId(static_cast<std::uint32_t>(random() % 3)),
          {static_cast<std::uint32_t>(random() % 8), 1},
          {0, 1}};
}

Device NearDevice(std::mt19937& random) {
  const auto n = static_cast<std::uint32_t>(random() % 3);
  switch (random() % 5) {
    case 0: return NearGpu(random);
    case 1: return NearMig(random);
    case 2: return Share{NearGpu(random), n, {}};
    case 3: return Share{NearMig(random), n, {}};
    default: break;
  }
  const WholeGpu gpu = NearGpu(random);
  VfioDevice vfio{*gpu.slot};
  if (random() % 2 == 0) vfio.remembered = gpu.uuid;
  return vfio;
}

State NearState(std::mt19937& random) {
  State state;
  for (int i = 0; i < 40; ++i) {
    const bool gone = random() % 8 == 0;
    Apply(state, Put{Hold{NearDevice(random), Pod{"default", "one", "main", "gpu"},
                          random() % 2 == 0, Time(), gone}});
  }
  for (const ClaimStep step : {ClaimStep::kPrepareStarted, ClaimStep::kTombstone}) {
    Claim claim;
    claim.owner.uid = ToString(step);
    claim.uses = {{NearDevice(random)}, {NearDevice(random), true}};
    claim.step = step;
    Apply(state, Put{claim});
  }
  for (const bool locked : {true, false}) {
    Plan plan;
    plan.id = locked ? "locked" : "waits";
    plan.scope = {NearDevice(random), NearDevice(random)};
    plan.locked = locked;
    Apply(state, Put{plan});
  }
  return state;
}

std::vector<std::string> NearTexts(const std::vector<Holder>& holders) {
  std::vector<std::string> texts;
  texts.reserve(holders.size());
  for (const Holder& holder : holders)
    texts.push_back(KeyOf(holder.use.device) + ToString(holder.owner) +
                    (holder.reserved ? " reserved" : "") + (holder.use.admin ? " admin" : ""));
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(HoldersNear, AreAllThatMayMeetTheDevice) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const State state = NearState(random);
    const Device device = NearDevice(random);
    std::vector<Holder> expected = HoldersOf(state);
    std::erase_if(expected, [&](const Holder& one) { return !MayMeet(device, one.use.device); });
    EXPECT_EQ(NearTexts(HoldersNear(state, device)), NearTexts(expected)) << ToString(device);
  }
}

TEST(HoldersNear, AreOfHundredsTheFewOnTheBoard) {
  State state;
  for (int gpu = 0; gpu < 500; ++gpu)
    Apply(state, Put{Hold{WholeGpu{model::GpuUuid("GPU-" + std::to_string(gpu))}, Pod{}, true,
                          Time(), false}});
  EXPECT_EQ(HoldsNear(state, WholeGpu{model::GpuUuid("GPU-7")}).size(), 1U);
  EXPECT_TRUE(HoldsNear(state, WholeGpu{model::GpuUuid("GPU-x")}).empty());
}

}  // namespace
}  // namespace partita::service::ledger
