#include "cli/status/draw_status.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/testing/sample_inventories.h"
#include "tests/golden/golden.h"
#include "tests/support/share.h"

namespace partita::cli {
namespace {

struct Picture {
  const char* name;  // of the golden file
  model::NodeReport (*node)();
  int width = 80;
  bool colour = false;
  bool utf8 = true;
  bool details = false;
};

class DrawStatusGolden : public testing::TestWithParam<Picture> {};

TEST_P(DrawStatusGolden, LooksAsReviewed) {
  const Picture& picture = GetParam();
  const Look look{picture.width, picture.colour, picture.utf8};
  const std::string text =
      ToString(DrawStatus(picture.node(), picture.details, look), picture.colour);
  golden::ExpectGolden(std::string("status/") + picture.name + ".txt", text);
}

INSTANTIATE_TEST_SUITE_P(
    Pictures,
    DrawStatusGolden,
    testing::Values(
        Picture{"h200-idle-80", model::testing::H200Idle},
        Picture{"h200-idle-120", model::testing::H200Idle, 120},
        Picture{"h200-idle-details", model::testing::H200Idle, 100, false, true, true},
        Picture{"dgx-mixed-80", model::testing::DgxA100Mixed},
        Picture{"dgx-mixed-120", model::testing::DgxA100Mixed, 120},
        Picture{"dgx-mixed-180", model::testing::DgxA100Mixed, 180},
        Picture{"dgx-mixed-80-ascii", model::testing::DgxA100Mixed, 80, false, false},
        Picture{"dgx-mixed-80-colour", model::testing::DgxA100Mixed, 80, true},
        Picture{"dgx-mixed-details", model::testing::DgxA100Mixed, 100, false, true, true},
        Picture{"dgx-full-80", model::testing::DgxA100Full},
        Picture{"mixed-products-80", model::testing::MixedProducts},
        Picture{"mixed-products-60", model::testing::MixedProducts, 60},
        Picture{"faulty-80", model::testing::FaultyNode},
        Picture{"faulty-80-colour", model::testing::FaultyNode, 80, true},
        Picture{"vfio-80", model::testing::VfioNode},
        Picture{"no-driver-80", model::testing::NoDriver},
        Picture{"kubernetes-60", model::testing::KubernetesNode, 60},
        Picture{"kubernetes-80", model::testing::KubernetesNode},
        Picture{"kubernetes-120", model::testing::KubernetesNode, 120},
        Picture{"hostile-names-80", model::testing::HostileNames},
        Picture{"hostile-names-80-ascii", model::testing::HostileNames, 80, false, false}),
    [](const testing::TestParamInfo<Picture>& picture) {
      std::string name = picture.param.name;
      for (char& c : name) {
        if (c == '-') c = '_';
      }
      return name;
    });

// Whatever the node and the width, nothing sticks out: wrapped lines would tear the boxes.
TEST(DrawStatus, NeverExceedsTheWidth) {
  model::NodeReport (*const nodes[])() = {
      model::testing::H200Idle,      model::testing::DgxA100Mixed, model::testing::DgxA100Full,
      model::testing::MixedProducts, model::testing::FaultyNode,   model::testing::VfioNode,
      model::testing::NoDriver,      model::testing::HostileNames, model::testing::KubernetesNode};
  const int step = static_cast<int>(tests::Share());
  for (model::NodeReport (*node)() : nodes) {
    const model::NodeReport report = node();
    for (const bool utf8 : {true, false}) {
      for (int width = 60; width <= 200; width += step) {
        const Look look{width, false, utf8};
        for (const Line& line : DrawStatus(report, false, look)) {
          ASSERT_LE(line.width(), width) << report.host << ": " << line.ToString(false);
        }
      }
    }
  }
}

TEST(DrawStatus, NeverSendsAControlCharacterOfAName) {
  const std::string text =
      ToString(DrawStatus(model::testing::HostileNames(), true, Look{}), false);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    ASSERT_TRUE(byte >= 0x20 || byte == '\n') << static_cast<int>(byte);
  }
}

TEST(DrawStatus, SaysHowManyGpusTheSelectionLeftOut) {
  model::NodeReport report = model::testing::DgxA100Mixed();
  report.inventory.gpus.resize(2);
  const std::string text = ToString(DrawStatus(report, false, Look{}), false);
  EXPECT_NE(text.find("2 of 8 GPUs"), std::string::npos) << text;
}

TEST(DrawStatus, SaysHowOldAGpuIsThatDoesNotAnswer) {
  model::NodeReport report = model::testing::DgxA100Mixed();
  std::vector<model::Gpu>& gpus = report.inventory.gpus;
  gpus[2].faults = {{model::FaultKind::kHung, "a call does not come back"}};
  report.stale = {{gpus[0].pci, {12, "it \033hangs"}},
                  {gpus[1].pci, {std::nullopt, "it wakes up"}},
                  {gpus[2].pci, {7200, "a call does not come back"}}};
  const std::string text = ToString(DrawStatus(report, false, Look{}), false);
  EXPECT_NE(text.find("\n   ! last answered 12 s ago: it ?hangs\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n   ! has not answered yet: it wakes up\n"), std::string::npos) << text;
  // The fault has said why.
  EXPECT_NE(text.find("\n   ! last answered 2 h ago\n"), std::string::npos) << text;
}

TEST(DrawStatus, SaysWhatIsSharedByMpsAndWhatIsNot) {
  model::NodeReport report = model::testing::H200Idle();
  const std::string gpu = report.inventory.gpus[0].uuid->value();
  report.mps = {{.name = gpu, .devices = {gpu}, .problem = "", .kept = false},
                {.name = "b", .devices = {gpu}, .problem = "", .kept = true},
                {.name = "c", .devices = {"GPU-x", "GPU-y"}, .problem = "its daemon has ended"},
                {.name = "d", .devices = {gpu}, .problem = "", .warning = "it is not exclusive"}};
  const std::string text = ToString(DrawStatus(report, false, {80, false, true}), false);
  EXPECT_NE(text.find("\n   GPU 0  ready\n          ! it is not exclusive\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find(" shared by MPS "), std::string::npos) << text;
  EXPECT_NE(text.find("\n   GPU 0  ready\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n   GPU 0  ready, but only for pods that hold shares already\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n   GPU-x, GPU-y  "), std::string::npos) << text;
  EXPECT_NE(text.find(" its daemon has ended\n"), std::string::npos) << text;
}

TEST(DrawStatus, ShowsMisplacedInstancesInsteadOfHidingThem) {
  model::NodeReport report = model::testing::DgxA100Mixed();
  report.inventory.gpus[3].mig->instances[0].placement = {2, 4};
  const std::string text = ToString(DrawStatus(report, false, Look{}), false);
  EXPECT_NE(text.find("! GI 2 3g.20gb: slices 4 to 8 overlap another instance"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace partita::cli
