#include "service/mig/generated_config.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/value.h"
#include "cli/mig/validate.h"
#include "config/mig_config.h"
#include "config/products.h"
#include "model/testing/sample_inventories.h"
#include "tests/golden/golden.h"

namespace partita::cli {
namespace {

// "40:off" and "80:on": a board and its mode.
model::Inventory Node(const std::vector<std::string>& gpus) {
  model::Inventory node;
  for (const std::string& text : gpus) {
    model::Gpu gpu =
        config::ProductGpu(text.starts_with("40") ? "A100-SXM4-40GB" : "A100-SXM4-80GB").value();
    gpu.index = model::GpuIndex(static_cast<std::uint32_t>(node.gpus.size()));
    gpu.mig->enabled = text.ends_with("on");
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

// The entries on one line each: "0x20B010DE [0] off".
std::string Entries(const std::vector<std::string>& gpus) {
  const base::Value file = service::mig::ExportConfig(Node(gpus), "current").value();
  std::string text;
  for (const base::Value& spec : file.Find("mig-configs")->Find("current")->items()) {
    if (const base::Value* filter = spec.Find("device-filter")) {
      text += base::ToJsonLine(*filter) + " ";
    }
    text += base::ToJsonLine(*spec.Find("devices"));
    text += spec.Find("mig-enabled")->AsBool() ? " on\n" : " off\n";
  }
  return text;
}

TEST(ExportConfig, MergesGpusThatAreAlike) {
  EXPECT_EQ(Entries({"40:off", "40:off"}), "\"all\" off\n");
  EXPECT_EQ(Entries({"40:off", "40:on"}), "[0] off\n[1] on\n");
  EXPECT_EQ(Entries({"40:off", "80:off"}), "\"all\" off\n");
  EXPECT_EQ(Entries({"40:off", "40:off", "80:on", "80:on"}),
            "\"0x20B010DE\" \"all\" off\n\"0x20B210DE\" \"all\" on\n");
  EXPECT_EQ(
      Entries({"40:off", "40:on", "80:off", "80:on"}),
      "[\"0x20B010DE\",\"0x20B210DE\"] [0,2] off\n[\"0x20B010DE\",\"0x20B210DE\"] [1,3] on\n");
}

TEST(ExportConfig, LooksAsReviewed) {
  const model::Inventory node = model::testing::DgxA100Mixed().inventory;
  golden::ExpectGolden("mig/export-dgx.yaml",
                       base::ToYaml(service::mig::ExportConfig(node, "current").value()));
  golden::ExpectGolden("mig/export-dgx.json",
                       base::ToJson(service::mig::ExportConfig(node, "current").value()));
}

TEST(GenerateConfig, LooksAsReviewed) {
  golden::ExpectGolden("mig/generated-a100.yaml",
                       base::ToYaml(service::mig::GenerateConfig(Node({"40:off"})).value()));
  golden::ExpectGolden(
      "mig/generated-two-boards.yaml",
      base::ToYaml(service::mig::GenerateConfig(Node({"40:off", "80:on"})).value()));
}

TEST(GenerateConfig, IsValidOnEveryProduct) {
  for (const std::string& product : config::ProductNames()) {
    model::Inventory node;
    node.gpus.push_back(config::ProductGpu(product).value());
    const base::Result<base::Value> generated = service::mig::GenerateConfig(node);
    if (!node.gpus[0].mig) {
      EXPECT_EQ(generated.error().code(), base::ErrorCode::kUnsupported) << product;
      continue;
    }
    const config::MigConfigFile file =
        config::MigConfigFile::Parse(base::ToYaml(*generated), "generated").value();
    EXPECT_GE(file.configs().size(), 6U) << product;
    for (const config::MigConfig& config : file.configs()) {
      const ConfigVerdict verdict = Validate(file, config, node);
      EXPECT_TRUE(verdict.reasons.empty()) << product << ": " << verdict.reasons.front();
      EXPECT_EQ(verdict.gpus, 1U) << product << ": " << config.name;
    }
  }
}

TEST(Validate, LooksAsReviewed) {
  const config::MigConfigFile file = config::MigConfigFile::Parse(
                                         "version: v1\n"
                                         "mig-configs:\n"
                                         "  good:\n"
                                         "    - devices: [5]\n"
                                         "      mig-enabled: true\n"
                                         "      mig-devices: {3g.71gb: 2}\n"
                                         "  elsewhere:\n"
                                         "    - device-filter: \"0x20B010DE\"\n"
                                         "      devices: all\n"
                                         "      mig-enabled: true\n"
                                         "      mig-devices: {1g.5gb: 7}\n"
                                         "  misspelt:\n"
                                         "    - devices: all\n"
                                         "      mig-enabled: true\n"
                                         "      mig-devices: {1g.81gb: 7}\n"
                                         "  too-much:\n"
                                         "    - devices: all\n"
                                         "      mig-enabled: true\n"
                                         "      mig-devices: {3g.71gb: 2, 1g.18gb: 1}\n",
                                         "mig.yaml")
                                         .value();
  const model::Inventory node = ModelNode(config::ProductGpu("H200").value(), {file.configs()[0]});
  EXPECT_EQ(node.gpus.size(), 6U);
  std::vector<ConfigVerdict> verdicts;
  for (const config::MigConfig& config : file.configs()) {
    const model::Inventory one = ModelNode(config::ProductGpu("H200").value(), {config});
    verdicts.push_back(Validate(file, config, one));
  }
  golden::ExpectGolden("mig/validate-h200.txt", ToString(DrawVerdicts(verdicts, Look{}), false));
  golden::ExpectGolden("mig/validate-h200.json", base::ToJson(VerdictsDocument(verdicts)));
}

}  // namespace
}  // namespace partita::cli
