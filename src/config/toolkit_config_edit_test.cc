#include "config/toolkit_config_edit.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/text.h"
#include "config/toolkit_config.h"

namespace partita::config {
namespace {

// The file after these, or the error.
std::string After(const std::string& text, const std::vector<std::string>& assignments) {
  TomlText file = TomlText::Parse(text, "c").value();
  for (const std::string& each : assignments) {
    const base::Result<void> set = SetToolkitKey(file, each);
    if (!set.ok()) return "error: " + set.error().ToString() + "; " + set.error().hint();
  }
  return file.text();
}

TEST(DefaultToolkitConfig, ReadsAsTheDefaults) {
  std::vector<std::string> warnings;
  const std::string text = DefaultToolkitConfig();
  EXPECT_EQ(ReadToolkitConfig(text, "c", &warnings).value(), ToolkitConfig{});
  EXPECT_EQ(warnings, std::vector<std::string>{});
  EXPECT_NE(text.find("\n#swarm-resource = \"DOCKER_RESOURCE_GPU\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n[nvidia-container-runtime.modes.cdi]\n"), std::string::npos) << text;
}

TEST(DefaultToolkitConfig, HasEveryKeyAlsoThoseThatAreComments) {
  std::string text = DefaultToolkitConfig();
  std::erase(text, '#');
  const TomlText all = TomlText::Parse(text, "c").value();
  for (const ToolkitKey& row : ToolkitKeys()) {
    TomlPath path;
    for (const std::string_view part : base::Split(row.key, '.')) path.emplace_back(part);
    EXPECT_NE(all.Find(path), nullptr) << row.key;
  }
  std::vector<std::string> warnings;
  EXPECT_TRUE(ReadToolkitConfig(text, "c", &warnings).ok());
}

TEST(SetToolkitKey, ValuesAreOfTheKindOfTheKey) {
  EXPECT_EQ(After("", {"disable-require"}), "disable-require = true\n");
  EXPECT_EQ(After("", {"disable-require=False"}), "disable-require = false\n");
  EXPECT_EQ(After("", {"swarm-resource=a \"b\"=c"}), "swarm-resource = \"a \\\"b\\\"=c\"\n");
  EXPECT_EQ(After("", {"nvidia-container-runtime.runtimes=crun,runc"}),
            "[nvidia-container-runtime]\n  runtimes = [\"crun\", \"runc\"]\n");
  EXPECT_EQ(After("", {"nvidia-container-runtime.runtimes=/a,b:/c"}),
            "[nvidia-container-runtime]\n  runtimes = [\"/a,b\", \"/c\"]\n");
  EXPECT_EQ(After("", {"nvidia-container-cli.environment="}),
            "[nvidia-container-cli]\n  environment = []\n");
}

TEST(SetToolkitKey, KeepsEverythingElse) {
  EXPECT_EQ(After("# mine\n[features] # on\nother = 1\nrestrict-proc = false # why\n",
                  {"features.restrict-proc", "features.check-requirements=true"}),
            "# mine\n[features] # on\nother = 1\nrestrict-proc = true # why\ncheck-requirements = "
            "true\n");
  EXPECT_EQ(After("[features]\nrestrict-proc = true\n", {"features.restrict-proc=nil"}),
            "[features]\n");
}

TEST(SetToolkitKey, SaysWhatIsWrong) {
  EXPECT_EQ(After("", {"nvidia-container-cli.load-kmod=true"}),
            "error: there is no key \"nvidia-container-cli.load-kmod\"; did you mean "
            "nvidia-container-cli.load-kmods?");
  EXPECT_EQ(After("", {"x"}),
            "error: there is no key \"x\"; nvidia-ctk config default shows all of them");
  EXPECT_EQ(After("", {"disable-require=nil"}),
            "error: disable-require: expected true or false, not \"nil\"; ");
  EXPECT_EQ(After("", {"swarm-resource"}),
            "error: swarm-resource: it needs a value; write key=value");
  EXPECT_TRUE(After("features = 1\n", {"features.restrict-proc"}).starts_with("error: "));
}

}  // namespace
}  // namespace partita::config
