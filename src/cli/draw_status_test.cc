#include "cli/draw_status.h"

#include <string>

#include <gtest/gtest.h>

#include "cli/sample_inventories.h"
#include "tests/golden/golden.h"

namespace partita::cli {
namespace {

struct Picture {
  const char* name;  // of the golden file
  NodeReport (*node)();
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
    testing::Values(Picture{"h200-idle-80", H200Idle},
                    Picture{"h200-idle-120", H200Idle, 120},
                    Picture{"h200-idle-details", H200Idle, 100, false, true, true},
                    Picture{"dgx-mixed-80", DgxA100Mixed},
                    Picture{"dgx-mixed-120", DgxA100Mixed, 120},
                    Picture{"dgx-mixed-180", DgxA100Mixed, 180},
                    Picture{"dgx-mixed-80-ascii", DgxA100Mixed, 80, false, false},
                    Picture{"dgx-mixed-80-colour", DgxA100Mixed, 80, true},
                    Picture{"dgx-mixed-details", DgxA100Mixed, 100, false, true, true},
                    Picture{"dgx-full-80", DgxA100Full},
                    Picture{"mixed-products-80", MixedProducts},
                    Picture{"mixed-products-60", MixedProducts, 60},
                    Picture{"faulty-80", FaultyNode},
                    Picture{"faulty-80-colour", FaultyNode, 80, true},
                    Picture{"vfio-80", VfioNode},
                    Picture{"no-driver-80", NoDriver},
                    Picture{"hostile-names-80", HostileNames},
                    Picture{"hostile-names-80-ascii", HostileNames, 80, false, false}),
    [](const testing::TestParamInfo<Picture>& picture) {
      std::string name = picture.param.name;
      for (char& c : name) {
        if (c == '-') c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace partita::cli
