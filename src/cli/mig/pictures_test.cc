#include <string>

#include <gtest/gtest.h>

#include "base/value.h"
#include "cli/mig/layouts.h"
#include "cli/mig/profiles.h"
#include "cli/mig/show.h"
#include "config/products.h"
#include "model/testing/sample_inventories.h"
#include "tests/golden/golden.h"

namespace partita::cli {
namespace {

model::Inventory Product(const char* name) {
  model::Inventory node;
  node.gpus.push_back(config::ProductGpu(name).value());
  return node;
}

std::string Text(const Lines& lines) { return ToString(lines, false); }

TEST(MigPictures, ProfilesLookAsReviewed) {
  golden::ExpectGolden("mig/profiles-h200.txt", Text(DrawMigProfiles(Product("H200"), Look{})));
  golden::ExpectGolden("mig/profiles-dgx.txt",
                       Text(DrawMigProfiles(model::testing::DgxA100Mixed().inventory, Look{})));
  golden::ExpectGolden("mig/profiles-a30-60.txt",
                       Text(DrawMigProfiles(Product("A30"), Look{.width = 60})));
  golden::ExpectGolden("mig/profiles-a30.json", base::ToJson(MigProfilesDocument(Product("A30"))));
}

TEST(MigPictures, LayoutsLookAsReviewed) {
  golden::ExpectGolden("mig/layouts-h200.txt",
                       Text(DrawMigLayouts(Product("H200"), false, Look{})));
  golden::ExpectGolden("mig/layouts-a30-all.txt",
                       Text(DrawMigLayouts(Product("A30"), true, Look{})));
  golden::ExpectGolden("mig/layouts-a30.json",
                       base::ToJson(MigLayoutsDocument(Product("A30"), false)));
}

TEST(MigPictures, ShowLooksAsReviewed) {
  golden::ExpectGolden("mig/show-dgx.txt",
                       Text(DrawMigShow(model::testing::DgxA100Mixed().inventory, Look{})));
  golden::ExpectGolden("mig/show-dgx-ascii.txt",
                       Text(DrawMigShow(model::testing::DgxA100Mixed().inventory,
                                        Look{.width = 100, .utf8 = false})));
  golden::ExpectGolden("mig/show-mixed.txt",
                       Text(DrawMigShow(model::testing::MixedProducts().inventory, Look{})));
  golden::ExpectGolden("mig/show-faulty.txt",
                       Text(DrawMigShow(model::testing::FaultyNode().inventory, Look{})));
  golden::ExpectGolden("mig/show-dgx.json",
                       base::ToJson(MigShowDocument(model::testing::DgxA100Mixed().inventory)));
}

TEST(MigPictures, NeverExceedTheWidth) {
  model::NodeReport (*const nodes[])() = {model::testing::H200Idle, model::testing::DgxA100Mixed,
                                          model::testing::MixedProducts, model::testing::FaultyNode,
                                          model::testing::HostileNames};
  for (model::NodeReport (*node)() : nodes) {
    const model::Inventory inventory = node().inventory;
    for (const int width : {60, 79, 80, 131}) {
      const Look look{.width = width};
      Lines lines = DrawMigProfiles(inventory, look);
      Append(DrawMigLayouts(inventory, false, look), lines);
      Append(DrawMigShow(inventory, look), lines);
      for (const Line& line : lines) {
        ASSERT_LE(line.width(), width) << node().host << ": " << line.ToString(false);
      }
    }
  }
}

TEST(Products, AreFoundByEveryName) {
  for (const std::string& name : config::ProductNames()) {
    EXPECT_TRUE(config::ProductGpu(name).ok()) << name;
  }
  EXPECT_EQ(config::ProductGpu("nvidia h200")->name, "NVIDIA H200");
  EXPECT_EQ(config::ProductGpu("h100")->name, "NVIDIA H100 80GB HBM3");
}

TEST(Products, AreSuggested) {
  EXPECT_EQ(config::ProductGpu("a100").error().message(),
            "\"a100\" may be A100-SXM4-40GB or A100-SXM4-80GB");
  EXPECT_EQ(config::ProductGpu("H2000").error().hint(), "did you mean \"H200\"?");
  EXPECT_EQ(config::ProductGpu("").error().code(), base::ErrorCode::kInvalid);
}

}  // namespace
}  // namespace partita::cli
