// A part that an event does not name is never changed by it, whatever happened before.

#include <random>

#include <gtest/gtest.h>

#include "service/health/testing/rules.h"
#include "service/health/testing/ward.h"

namespace partita::service::health {
namespace {

using testing::Ward;

std::vector<Part> AllParts() {
  std::vector<Part> parts = {Ward::Gpu(), {.gpu = testing::kSecond}};
  for (std::uint32_t gi = 1; gi <= 3; ++gi) {
    parts.push_back(Ward::Instance(gi));
    for (std::uint32_t ci = 0; ci <= 1; ++ci) parts.push_back(Ward::Device(gi, ci));
  }
  return parts;
}

// By the sentence of the design, not by the code.
bool IsAffected(const Part& event, const Part& part) {
  if (event.gpu != part.gpu) return false;
  if (!event.gpu_instance) return true;
  if (event.gpu_instance != part.gpu_instance) return false;
  return !event.compute_instance || event.compute_instance == part.compute_instance;
}

TEST(HealthAtRandom, ChangesNothingBesideTheScope) {
  const std::vector<Part> parts = AllParts();
  constexpr std::uint64_t kXids[] = {31, 45, 48, 63, 79, 94, 95, 109, 156, 7777};
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Ward ward;
    if (seed % 2 == 0) ward.options_.rules = {testing::Fatal(31)};
    for (int step = 0; step < 40; ++step) {
      std::vector<model::HealthState> before;
      before.reserve(parts.size());
      for (const Part& part : parts) before.push_back(ward.State(part));
      const Part& event = parts.at(random() % parts.size());
      const std::uint64_t xid = kXids[random() % std::size(kXids)];
      ward.Xid(xid, event);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        // 94 says of a 48 on the same GPU that it was contained.
        if (IsAffected(event, parts[i]) || (xid == 94 && event.gpu == parts[i].gpu)) continue;
        EXPECT_EQ(ward.State(parts[i]), before[i]) << "seed " << seed << " step " << step;
      }
      if (random() % 2 == 0) ward.Live(std::chrono::seconds(random() % 20));
    }
  }
}

TEST(HealthAtRandom, EveryFaultOfAnXidEndsWithAReloadOfADriverThatFindsNothing) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    Ward ward;
    const std::vector<Part> parts = AllParts();
    for (int step = 0; step < 10; ++step) {
      std::uint64_t xid = random() % 180;
      if (xid == 54 || xid == 81) xid = 0;  // to be replaced
      ward.Xid(xid, parts.at(random() % parts.size()));
    }
    ++ward.facts_.driver.module;
    ward.Live(std::chrono::minutes(11));
    EXPECT_TRUE(ward.health_.faults.empty()) << "seed " << seed;
    EXPECT_EQ(ward.Next(), std::nullopt);
  }
}

}  // namespace
}  // namespace partita::service::health
