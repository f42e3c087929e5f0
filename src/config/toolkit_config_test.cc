#include "config/toolkit_config.h"

#include <cstdlib>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::config {
namespace {

struct ToolkitConfigRead {
  base::Result<ToolkitConfig> config;
  std::vector<std::string> warnings;
};
ToolkitConfigRead ReadText(std::string text) {
  std::vector<std::string> warnings;
  auto config = ReadToolkitConfig(std::move(text), "config.toml", &warnings);
  return {std::move(config), std::move(warnings)};
}
ToolkitConfig GoodToolkitConfig(std::string text) {
  ToolkitConfigRead read = ReadText(std::move(text));
  EXPECT_TRUE(read.config.ok()) << read.config.error().ToString();
  EXPECT_EQ(read.warnings, std::vector<std::string>());
  return *std::move(read.config);
}
std::string Wrong(std::string text) {
  const ToolkitConfigRead read = ReadText(std::move(text));
  return read.config.ok() ? "(no error)" : read.config.error().ToString();
}

TEST(ToolkitConfig, AnEmptyFileIsTheDefaults) { EXPECT_EQ(GoodToolkitConfig(""), ToolkitConfig{}); }

// What the reference's package installs.
constexpr const char* kInstalled = R"(#accept-nvidia-visible-devices-as-volume-mounts = false
disable-require = false
supported-driver-capabilities = "compat32,compute,display,graphics,ngx,utility,video"

[nvidia-container-cli]
environment = []
#debug = "/var/log/nvidia-container-toolkit.log"
ldconfig = "@/sbin/ldconfig"
load-kmods = true

[nvidia-container-runtime]
log-level = "info"
mode = "auto"
runtimes = ["runc", "crun"]

[nvidia-container-runtime.modes]

[nvidia-container-runtime.modes.cdi]
annotation-prefixes = ["cdi.k8s.io/"]
default-kind = "nvidia.com/gpu"
spec-dirs = ["/etc/cdi", "/var/run/cdi"]

[nvidia-container-runtime.modes.csv]
mount-spec-path = "/etc/nvidia-container-runtime/host-files-for-container.d"

[nvidia-container-runtime.modes.legacy]
cuda-compat-mode = "ldconfig"

[nvidia-container-runtime-hook]
path = "nvidia-container-runtime-hook"
skip-mode-detection = false

[nvidia-ctk]
path = "nvidia-ctk"
)";

TEST(ToolkitConfig, TheInstalledFileSaysTheDefaults) {
  EXPECT_EQ(GoodToolkitConfig(kInstalled), ToolkitConfig{});
}

TEST(ToolkitConfig, EveryKeyReachesItsOwnMember) {
  std::set<std::string> rest;
  for (const ToolkitKey& row : ToolkitKeys()) {
    const bool is_ldconfig = row.key == "nvidia-container-cli.ldconfig";
    const std::string text = is_ldconfig ? "@/x" : "/x";
    ToolkitConfig expected;
    std::string value;
    std::visit(
        [&](auto member) {
          auto& target = expected.*member;
          using T = std::decay_t<decltype(target)>;
          if constexpr (std::is_same_v<T, std::string>) {
            target = text;
            value = "\"" + text + "\"";
          } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            target = {"/a", "/b"};
            value = "['/a', \"/b\"]";
          } else if constexpr (std::is_same_v<T, bool>) {
            target = !target;
            value = target ? "true" : "false";
          } else {
            target = false;
            value = "false";
          }
        },
        row.member);
    EXPECT_EQ(GoodToolkitConfig(std::string(row.key) + " = " + value + "\n"), expected) << row.key;
    EXPECT_TRUE(rest.insert(std::string(row.key)).second) << row.key;
  }
  EXPECT_EQ(rest.size(), 39U);
}

TEST(ToolkitConfig, UnknownKeysAreWarnings) {
  const ToolkitConfigRead read = ReadText(
      "swarm-resources = \"A\"\n[nvidia-container-runtime]\nmode = \"cdi\"\n[future.table]\nx = "
      "1\n");
  ASSERT_TRUE(read.config.ok());
  EXPECT_EQ(read.config->runtime_mode, "cdi");
  EXPECT_EQ(read.warnings,
            (std::vector<std::string>{
                "config.toml:1:1: unknown key \"swarm-resources\" is ignored; did you mean "
                "swarm-resource?",
                "config.toml:4:2: unknown key \"future\" is ignored"}));
}

TEST(ToolkitConfig, ADotInQuotesIsNoTable) {
  const ToolkitConfigRead read = ReadText("\"nvidia-container-cli.ldconfig\" = \"/x\"\n");
  ASSERT_TRUE(read.config.ok());
  EXPECT_EQ(*read.config, ToolkitConfig{});
  EXPECT_EQ(read.warnings.size(), 1U);
}

TEST(ToolkitConfig, WrongKindsHaveTheirPlaces) {
  EXPECT_EQ(Wrong("disable-require = \"true\"\nswarm-resource = true\n"),
            "config.toml:1:19: expected true or false, not \"true\"\n"
            "    1 | disable-require = \"true\"\n"
            "      |                   ^^^^^^\n"
            "config.toml:2:18: expected a text in quotes, not \"true\"\n"
            "    2 | swarm-resource = true\n"
            "      |                  ^^^^");
  EXPECT_NE(Wrong("nvidia-container-runtime = 1\n").find("expected a table"), std::string::npos);
  EXPECT_NE(Wrong("[nvidia-container-runtime]\nruntimes = \"runc\"\n").find("a list of texts"),
            std::string::npos);
  EXPECT_NE(Wrong("[nvidia-container-runtime]\nruntimes = [1]\n").find("a text in quotes"),
            std::string::npos);
  EXPECT_NE(Wrong("[").find("config.toml:1:"), std::string::npos);
}

TEST(ToolkitConfig, LdconfigIsTheHosts) {
  const std::string own = "[nvidia-container-cli]\nldconfig = \"/sbin/ldconfig\"\n";
  EXPECT_NE(Wrong(own).find("config.toml:2:12: \"/sbin/ldconfig\" is no path of the host"),
            std::string::npos);
  EXPECT_NE(Wrong("[nvidia-container-cli]\nldconfig = \"@../ldconfig\"\n")
                .find("\"@../ldconfig\" is no path of the host"),
            std::string::npos);
  EXPECT_EQ(
      GoodToolkitConfig(own + "[features]\nallow-ldconfig-from-container = true\n").cli_ldconfig,
      "/sbin/ldconfig");
}

TEST(ToolkitConfig, DirectoriesAreAbsolute) {
  EXPECT_NE(Wrong("[nvidia-container-cli]\nroot = \"../driver\"\n")
                .find("config.toml:2:8: \"../driver\" is not an absolute path"),
            std::string::npos);
  EXPECT_NE(Wrong("nvidia-container-runtime.modes.cdi.spec-dirs = [\"/etc/cdi\", \"cdi\"]\n")
                .find("\"cdi\" is not an absolute path"),
            std::string::npos);
  EXPECT_EQ(GoodToolkitConfig("nvidia-container-cli.root = \"\"\n").cli_root, "");
}

TEST(ToolkitConfig, AFileMayBeAbsentUnlessItIsRequired) {
  std::string directory = testing::TempDir() + "/toolkit-config-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/config.toml";
  std::vector<std::string> warnings;
  EXPECT_EQ(*LoadToolkitConfig(path, false, &warnings), ToolkitConfig{});
  EXPECT_EQ(LoadToolkitConfig(path, true, &warnings).error().code(), base::ErrorCode::kNotFound);
  ASSERT_TRUE(base::WriteFile(path, "disable-require = true\n", 0644).ok());
  EXPECT_TRUE(LoadToolkitConfig(path, false, &warnings)->disable_require);
  EXPECT_FALSE(LoadToolkitConfig(directory, false, &warnings).ok());
  EXPECT_TRUE(base::RemoveTree(directory).ok());
}

TEST(ToolkitConfig, ThePathIsTheEnvironments) {
  std::map<std::string, std::string> variables;
  const auto path = [&] {
    return ToolkitConfigPath([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  EXPECT_EQ(path(), "/etc/nvidia-container-runtime/config.toml");
  variables["XDG_CONFIG_HOME"] = "/home/me/.config";
  EXPECT_EQ(path(), "/home/me/.config/nvidia-container-runtime/config.toml");
  variables["NVIDIA_CTK_CONFIG_FILE_PATH"] = "/opt/c.toml";
  EXPECT_EQ(path(), "/opt/c.toml");
  variables = {{"XDG_CONFIG_HOME", ""}, {"NVIDIA_CTK_CONFIG_FILE_PATH", ""}};
  EXPECT_EQ(path(), "/etc/nvidia-container-runtime/config.toml");
}

}  // namespace
}  // namespace partita::config
