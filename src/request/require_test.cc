#include "request/require.h"

#include <gtest/gtest.h>

namespace partita::request {
namespace {

const Properties kTesla550 = {"12.4", "550.90.07", "9.0", "tesla"};

std::string Check(std::string_view text, const Properties& gpu = kTesla550) {
  const auto requirement = ParseRequirement(text);
  if (!requirement.ok()) return requirement.error().ToString();
  const auto result = CheckRequirements({&*requirement, 1}, {&gpu, 1});
  return result.ok() ? "" : result.error().ToString();
}

TEST(Require, ParsesAlternativesOfTerms) {
  const auto requirement = ParseRequirement(" CUDA>=12.8  brand=Tesla,driver<471, ");
  ASSERT_TRUE(requirement.ok());
  EXPECT_EQ(requirement->any_of,
            (std::vector<std::vector<Term>>{{{"cuda", ">=", "12.8"}},
                                            {{"brand", "=", "Tesla"}, {"driver", "<", "471"}}}));
}

TEST(Require, R16TheSecondTermSuffices) {
  EXPECT_EQ(Check("cuda>=12.8 brand=tesla,driver>=470"), "");
  EXPECT_EQ(Check("cuda>=12.8 brand=quadro,driver>=470"), "unsatisfied condition: cuda>=12.8");
}

TEST(Require, OfACudaImage) {
  // The variable of a CUDA 12.4 image, shortened.
  const std::string image =
      "cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=nvidiartx,driver>=470,driver<471";
  EXPECT_EQ(Check(image, {"12.2", "470.256.02", "8.0", "Tesla"}), "");
  EXPECT_EQ(Check(image, {"12.2", "470.256.02", "8.6", "nvidiartx"}), "");
  EXPECT_NE(Check(image, {"12.2", "470.256.02", "8.6", "geforce"}), "");
  EXPECT_NE(Check(image, {"12.2", "535.1", "8.0", "tesla"}), "");
}

TEST(Require, EveryOperator) {
  for (const char* good : {"cuda=12.4", "cuda!=12.3", "cuda<12.5", "cuda<=12.4", "cuda>12.3",
                           "cuda>=12.4", "driver>550.9", "driver<550.100", "arch>=9", "arch=9.0.0",
                           "cuda=12.4.0", "cuda=012.04", "brand=TESLA", "brand!=quadro"})
    EXPECT_EQ(Check(good), "") << good;
  for (const char* bad : {"cuda=12.40", "cuda!=12.4", "cuda<12.4", "cuda<=12.3", "cuda>12.4",
                          "cuda>=12.10", "driver>550.90.7", "arch<9", "brand!=Tesla", "brand=nvs",
                          "cuda>=99999999999999999999999.1"})
    EXPECT_EQ(Check(bad), "unsatisfied condition: " + std::string(bad));
}

TEST(Require, UnknownPropertiesCountForNothing) {
  EXPECT_EQ(Check("gsp=on"), "");
  EXPECT_EQ(Check("gsp=on cuda>=12.4"), "");
  EXPECT_NE(Check("gsp=on cuda>=12.8"), "");
  EXPECT_NE(Check("gsp=on,cuda>=12.8"), "");
  EXPECT_EQ(UnknownProperties(*ParseRequirement("gsp=on,cuda>1 GSP=off x=1")),
            (std::vector<std::string>{"gsp", "x"}));
  EXPECT_EQ(Check(""), "");
}

TEST(Require, MalformedTermsAreErrors) {
  EXPECT_EQ(Check("cuda"), "malformed requirement \"cuda\": it has no operator");
  EXPECT_EQ(Check("cuda!12"), "malformed requirement \"cuda!12\": it has no operator");
  EXPECT_EQ(Check(">=12"), "malformed requirement \">=12\": it has no property");
  for (const char* value : {"", "12.", ".4", "12..4", "v12", "12-rc1", "=12", "12.4\xff"})
    EXPECT_EQ(Check("cuda>=" + std::string(value)).substr(0, 21), "malformed requirement") << value;
  EXPECT_NE(Check("brand<tesla").find("a brand can only be, or not be, one"), std::string::npos);
  EXPECT_NE(Check("brand="), "");
}

TEST(Require, HintsAtTheDriverForCuda) {
  const auto cuda = ParseRequirement("cuda>=13.0,brand=tesla brand=x"),
             arch = ParseRequirement("arch>9");
  EXPECT_EQ(CheckRequirements({&*cuda, 1}, {&kTesla550, 1}).error().ToString(),
            "unsatisfied condition: cuda>=13.0,brand=tesla");
  EXPECT_NE(CheckRequirements({&*cuda, 1}, {&kTesla550, 1}).error().hint(), "");
  EXPECT_EQ(CheckRequirements({&*arch, 1}, {&kTesla550, 1}).error().hint(), "");
}

TEST(Require, EveryGpuAndEveryVariable) {
  const std::vector<Properties> gpus = {kTesla550, {"12.4", "550.90.07", "7.5", "tesla"}};
  std::vector<std::string> warnings;
  EXPECT_TRUE(CheckTexts(std::vector<std::string>{"arch>=7.5", "x=1"}, gpus, &warnings).ok());
  EXPECT_EQ(warnings, std::vector<std::string>{
                          "requirements of \"x\" are skipped: there is no such property"});
  EXPECT_FALSE(CheckTexts(std::vector<std::string>{"cuda>=12", "arch>=8"}, gpus, &warnings).ok());
  EXPECT_FALSE(CheckTexts(std::vector<std::string>{"cuda"}, gpus, &warnings).ok());
}

TEST(Require, PropertiesComeFromTheNode) {
  cdi::NodeDevices node;
  node.cuda = "13.0";
  node.driver_version = "580.1";
  node.rows.resize(2);
  node.rows[0].brand = "tesla";
  node.rows[0].compute = "9.0";
  const std::vector<const cdi::DeviceRow*> rows = {&node.rows[0], &node.rows[1]};
  const std::vector<Properties> of = PropertiesOf(node, rows);
  ASSERT_EQ(of.size(), 2U);
  EXPECT_EQ(Check("cuda=13,driver=580.1,arch=9,brand=tesla", of[0]), "");
  EXPECT_EQ(Check("brand=unknown,arch>100", of[1]), "");
  EXPECT_NE(Check("brand=tesla", of[1]), "");
  // No device: what devices would have to be is satisfied, the driver is not.
  const std::vector<Properties> none = PropertiesOf(node, {});
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(Check("brand=x,arch>100", none[0]), "");
  EXPECT_NE(Check("cuda>=14", none[0]), "");
  node.cuda.clear();
  EXPECT_EQ(Check("cuda>=14", PropertiesOf(node, {})[0]), "");
}

}  // namespace
}  // namespace partita::request
