#include "hw/nvml/link_reader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace partita::hw::nvml {
namespace {

model::PciAddress At(std::uint8_t bus) {
  return {.domain = 0, .bus = bus, .device = 0, .function = 0};
}

TEST(Combine, ListsEachPairOnceWithWhatEitherEndSaid) {
  const std::vector<LinksOfGpu> all = {
      {.gpu = At(7),
       .paths = {{At(0x0F), model::PathLevel::kOneSwitch}, {At(0x47), model::PathLevel::kSystem}},
       .nvlinks = {{At(0x0F), 2}},
       .partly = false,
       .switched = 0},
      // The second GPU also counts its links back; the third one did not answer about paths.
      {.gpu = At(0x0F),
       .paths = {},
       .nvlinks = {{At(7), 2}, {At(0x47), 1}},
       .partly = false,
       .switched = 0},
      {.gpu = At(0x47), .paths = {}, .nvlinks = {}, .partly = false, .switched = 12},
  };
  const NodeLinks node = Combine(all);
  ASSERT_EQ(node.links.size(), 3U);
  EXPECT_EQ(node.links[0],
            (model::GpuLink{
                .a = At(7), .b = At(0x0F), .path = model::PathLevel::kOneSwitch, .nvlinks = 2}));
  EXPECT_EQ(
      node.links[1],
      (model::GpuLink{.a = At(7), .b = At(0x47), .path = model::PathLevel::kSystem, .nvlinks = 0}));
  EXPECT_EQ(node.links[2],
            (model::GpuLink{.a = At(0x0F), .b = At(0x47), .path = std::nullopt, .nvlinks = 1}));
  ASSERT_EQ(node.switch_links.size(), 1U);
  EXPECT_EQ(node.switch_links[0], (model::SwitchLinks{.gpu = At(0x47), .active = 12}));
}

std::vector<model::GpuLink> LinksOf(std::map<model::PciAddress, std::uint32_t> one,
                                    std::map<model::PciAddress, std::uint32_t> other,
                                    bool one_partly = false,
                                    bool other_partly = false) {
  std::vector<LinksOfGpu> all(2);
  all[0].gpu = At(7);
  all[0].nvlinks = std::move(one);
  all[0].partly = one_partly;
  all[1].gpu = At(0x0F);
  all[1].nvlinks = std::move(other);
  all[1].partly = other_partly;
  return Combine(all).links;
}

TEST(Combine, BelievesTheEndThatCountsFewerLinks) {
  const std::vector<model::GpuLink> one = {
      {.a = At(7), .b = At(0x0F), .path = std::nullopt, .nvlinks = 1}};
  EXPECT_EQ(LinksOf({{At(0x0F), 2}}, {{At(7), 1}}), one);
  EXPECT_EQ(LinksOf({{At(0x0F), 1}}, {{At(7), 2}}), one);
  EXPECT_TRUE(LinksOf({{At(0x0F), 2}}, {{At(7), 0}}).empty());
  EXPECT_TRUE(LinksOf({{At(0x0F), 0}}, {{At(7), 2}}).empty());
}

TEST(Combine, BelievesOneEndWhereTheOtherCouldNotTell) {
  const std::vector<model::GpuLink> two = {
      {.a = At(7), .b = At(0x0F), .path = std::nullopt, .nvlinks = 2}};
  EXPECT_EQ(LinksOf({{At(0x0F), 2}}, {}), two);
  EXPECT_EQ(LinksOf({}, {{At(7), 2}}), two);
}

TEST(Combine, BelievesACountThatIsNotWholeOnlyWhereThereIsNoOther) {
  const std::vector<model::GpuLink> three = {
      {.a = At(7), .b = At(0x0F), .path = std::nullopt, .nvlinks = 3}};
  EXPECT_EQ(LinksOf({{At(0x0F), 3}}, {{At(7), 1}}, false, true), three);
  EXPECT_EQ(LinksOf({{At(0x0F), 1}}, {{At(7), 3}}, true, false), three);
  EXPECT_EQ(LinksOf({{At(0x0F), 1}}, {{At(7), 3}}, true, true), three);
  EXPECT_EQ(LinksOf({{At(0x0F), 3}}, {}, true, true), three);
}

}  // namespace
}  // namespace partita::hw::nvml
