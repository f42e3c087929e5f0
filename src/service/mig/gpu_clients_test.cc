#include "service/mig/gpu_clients.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::service::mig {
namespace {

// Stopping and starting needs systemd: tests/boot/clients-order.sh and unit-killed.sh.
class LoadGpuClientsTest : public ::testing::Test {
 protected:
  LoadGpuClientsTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "gpu-clients-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string File() const { return directory_ + "/clients.yaml"; }
  base::Result<std::vector<std::string>> Load(const std::string& text) const {
    EXPECT_TRUE(base::WriteFile(File(), text, 0644).ok());
    return LoadGpuClients(File());
  }
  // The whole text of the error, with the directory left out.
  [[nodiscard]] std::string Problem(const std::string& text) const {
    const auto units = Load(text);
    if (units.ok()) return "no error";
    std::string said = units.error().ToString();
    for (std::size_t at = said.find(directory_); at != std::string::npos;
         at = said.find(directory_)) {
      said.replace(at, directory_.size() + 1, "");
    }
    return said;
  }

  std::string directory_;
};

TEST_F(LoadGpuClientsTest, KeepsTheOrderOfTheFile) {
  const auto units = Load("version: v1\nsystemd-services: [b.service, a.service]\n");
  ASSERT_TRUE(units.ok()) << units.error().ToString();
  EXPECT_EQ(*units, (std::vector<std::string>{"b.service", "a.service"}));
}

TEST_F(LoadGpuClientsTest, LeavesOutTheUnitThatAsksUnderBothNames) {
  const auto units = Load(
      "version: v1\n"
      "systemd-services: [partita-mig.service, a.service, nvidia-mig-manager.service]\n");
  ASSERT_TRUE(units.ok()) << units.error().ToString();
  EXPECT_EQ(*units, std::vector<std::string>{"a.service"});
}

TEST_F(LoadGpuClientsTest, LeavesOtherKeysToOthers) {
  EXPECT_TRUE(Load("version: v1\nsystemd-services: []\npods: [x]\n").ok());
}

TEST_F(LoadGpuClientsTest, NamesEveryProblemWithItsPlace) {
  EXPECT_EQ(Problem("version: v2\nsystemd-services: a.service\n"),
            "clients.yaml:1:10: unknown version \"v2\"\n"
            "    1 | version: v2\n"
            "      |          ^^ only v1 exists\n"
            "clients.yaml:2:19: expected systemd-services, not \"a.service\"\n"
            "    2 | systemd-services: a.service\n"
            "      |                   ^^^^^^^^^ write it as \"- item\" lines or [a, b]");
  EXPECT_EQ(Problem("- a.service\n"),
            "clients.yaml:1:1: expected the file of GPU clients, not a list\n"
            "    1 | - a.service\n"
            "      | ^ write it as \"key: value\" lines");
  EXPECT_EQ(Problem("systemd-services: [a.service, {b: c}]\n"),
            "clients.yaml:1:1: missing key \"version\"\n"
            "    1 | systemd-services: [a.service, {b: c}]\n"
            "      | ^\n"
            "clients.yaml:1:31: expected a text, not a map\n"
            "    1 | systemd-services: [a.service, {b: c}]\n"
            "      |                               ^");
  EXPECT_EQ(Problem("version: [v1\n"),
            "clients.yaml:2:1: not YAML: did not find expected ',' or ']' while parsing a flow "
            "sequence that begins in line 1\n"
            "    2 | \n"
            "      | ^");
}

// The journal has one unit a line, and systemctl takes what begins with a dash for an option.
TEST_F(LoadGpuClientsTest, RefusesNamesThatWouldMeanSomethingElse) {
  EXPECT_EQ(Problem("version: v1\nsystemd-services: [\"a.service\\nb.service\", --now]\n"),
            "clients.yaml:2:20: \"a.service\\nb.service\" holds a control character\n"
            "    2 | systemd-services: [\"a.service\\nb.service\", --now]\n"
            "      |                    ^^^^^^^^^^^^^^^^^^^^^^ write the name of one unit\n"
            "clients.yaml:2:44: \"--now\" is no unit\n"
            "    2 | systemd-services: [\"a.service\\nb.service\", --now]\n"
            "      |                                            ^^^^^ write the name of one unit");
}

TEST_F(LoadGpuClientsTest, SaysWhichFileIsMissing) {
  const auto units = LoadGpuClients(File());
  ASSERT_FALSE(units.ok());
  EXPECT_EQ(units.error().ToString(), "open " + File() + ": No such file or directory (errno 2)");
}

}  // namespace
}  // namespace partita::service::mig
