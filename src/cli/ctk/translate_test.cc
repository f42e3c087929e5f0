#include "cli/ctk/translate.h"

#include <map>

#include <gtest/gtest.h>

#include "base/text.h"

namespace partita::cli {
namespace {

class Ctk : public testing::Test {
 protected:
  std::string Translate(const std::vector<std::string>& words) {
    const auto translated = TranslateCtk(
        words, {[this](const char* name) {
                  const auto found = variables_.find(name);
                  return found == variables_.end() ? std::nullopt : std::optional(found->second);
                },
                [this](const std::string& file) -> base::Result<std::string> {
                  config_file_ = file;
                  return configured_root_;
                }});
    if (!translated.ok()) hint_ = translated.error().hint();
    if (!translated.ok()) return "error: " + translated.error().ToString();
    warnings_ = translated->warnings;
    if (!translated->usage.empty()) return translated->usage;
    return base::Join(translated->arguments, " ");
  }
  std::string Line(std::string_view line) {
    std::vector<std::string> words;
    for (const std::string_view word : base::SplitWords(line)) words.emplace_back(word);
    return Translate(words);
  }

  std::map<std::string, std::string> variables_;
  std::string configured_root_, config_file_, hint_;
  std::vector<std::string> warnings_;
};

TEST_F(Ctk, GenerateAsTheDocumentsCallIt) {
  EXPECT_EQ(Line("cdi generate --output=/etc/cdi/nvidia.yaml"),
            "cdi generate /etc/cdi/nvidia.yaml");
  EXPECT_EQ(Line("cdi generate"), "cdi generate");
  EXPECT_EQ(Line("--quiet -d cdi generate --format json"), "cdi generate --output json");
  EXPECT_EQ(Line("cdi generate --format yaml --output x"), "cdi generate x.yaml");
  EXPECT_EQ(Line("cdi generate --output x.json"), "cdi generate x.json");
  EXPECT_EQ(Line("cdi generate --output x.yml"), "cdi generate x.yml");
  EXPECT_EQ(Line("cdi generate --format json --output x.yaml"),
            "error: --format json is not what the name of x.yaml says");
  EXPECT_EQ(Line("cdi generate --format toml"), "error: --format is yaml or json, not \"toml\"");
}

TEST_F(Ctk, EveryFlagOfGenerate) {
  EXPECT_EQ(
      Line(
          "cdi generate --discovery-mode nvml --device-name-strategy=uuid --device-name-strategy "
          "index --driver-root /d --dev-root /v --library-search-path /l --config-search-path /c "
          "--nvidia-ctk-path /h --ldconfig-path /s --cdi-vendor a.com --cdi-class b "
          "--disable-hooks "
          "all --enable-hook chmod --feature-flag disable-ipc-discoverer --no-all-device --devices "
          "0 --device-id 1"),
      "cdi generate --mode nvml --device-name-strategy uuid --device-name-strategy index "
      "--driver-root /d --dev-root /v --library-search-path /l --config-search-path /c --hook-path "
      "/h --ldconfig-path /s --vendor a.com --class b --disable-hook all --enable-hook chmod "
      "--feature-flag disable-ipc-discoverer --no-all-device --device-id 0 --device-id 1");
  EXPECT_EQ(Line("cdi generate --no-all-device=false"), "cdi generate");
  EXPECT_EQ(Line("cdi generate --vendor a.com --vendor b.com"), "cdi generate --vendor b.com");
  EXPECT_EQ(Translate({"cdi", "generate", "--device-id", "0,1"}), "cdi generate --device-id 0,1");
}

TEST_F(Ctk, VariablesStandForFlagsThatAreAbsent) {
  variables_ = {{"NVIDIA_CTK_CDI_GENERATE_DEVICE_IDS", "0, 1"},
                {"NVIDIA_CTK_CDI_OUTPUT_FILE_PATH", "/x.yaml"},
                {"NVIDIA_CTK_DRIVER_ROOT", "/d"},
                {"NVIDIA_CTK_CDI_GENERATE_VENDOR", ""}};
  configured_root_ = "/c";
  EXPECT_EQ(Line("cdi generate"),
            "cdi generate /x.yaml --driver-root /d --device-id 0 --device-id 1");
  EXPECT_EQ(Line("cdi generate --device 7 --driver-root /e --output y.json"),
            "cdi generate y.json --driver-root /e --device-id 7");
}

TEST_F(Ctk, TheDriverRootIsTheConfigurations) {
  configured_root_ = "/run/nvidia/driver";
  EXPECT_EQ(Line("--config /c.toml cdi generate"), "cdi generate --driver-root /run/nvidia/driver");
  EXPECT_EQ(config_file_, "/c.toml");
}

TEST_F(Ctk, ListAndConfigure) {
  EXPECT_EQ(Line("cdi list --spec-dir /a --spec-dir=/b"), "cdi list --spec-dir /a --spec-dir /b");
  EXPECT_EQ(
      Line("runtime configure --runtime=containerd --nvidia-runtime-name n --runtime-path /p "
           "--nvidia-set-as-default --cdi.enabled --dry-run --config /c --drop-in-config /d "
           "--config-source command --executable-path /e"),
      "runtime configure --runtime containerd --config /c --drop-in-config /d --config-source "
      "command --executable-path /e --runtime-name n --runtime-path /p --set-as-default "
      "--enable-cdi --dry-run");
  EXPECT_EQ(Line("runtime configure --nvidia-runtime-hook-path /h"), "runtime configure");
  EXPECT_EQ(warnings_, std::vector<std::string>{"--nvidia-runtime-hook-path has no effect here"});
}

TEST_F(Ctk, WhatIsNotHereIsRefusedByName) {
  EXPECT_EQ(Line("system create-dev-char-symlinks"),
            "error: nvidia-ctk system create-dev-char-symlinks is not here");
  EXPECT_EQ(Line("cdi transform root"), "error: nvidia-ctk cdi transform is not here");
  EXPECT_EQ(hint_, "cdi generate --driver-root DIR --dev-root DIR writes the paths meant");
  EXPECT_EQ(Line("info --help"), "error: nvidia-ctk info --help is not here");
  EXPECT_EQ(Line("system"), "error: nvidia-ctk system is not here");
  EXPECT_EQ(hint_, "nvidia-modprobe -u -c 0 makes them; partita doctor names them");
  EXPECT_EQ(Line("system create-dev-char-symlinks --create-all"),
            "error: nvidia-ctk system create-dev-char-symlinks is not here");
  EXPECT_EQ(hint_, "for each node: ln -s ../nvidia0 /dev/char/195:0");
  EXPECT_EQ(Line("cdi make"), "error: there is no command \"cdi make\"");
  EXPECT_EQ(Line("runtime configure --config-mode oci-hook"), "error: --config-mode is not here");
  EXPECT_EQ(Line("cdi list --bogus"), "error: there is no flag \"--bogus\"");
  EXPECT_EQ(Line("cdi list --spec-dir"), "error: --spec-dir needs a value");
  EXPECT_EQ(Line("cdi list stray"), "error: unexpected word \"stray\"");
}

TEST_F(Ctk, HelpAndVersion) {
  EXPECT_EQ(Line("--version"), "version");
  EXPECT_EQ(Line(""), Line("--help"));
  EXPECT_EQ(Line("help"), Line("-d --help"));
  EXPECT_EQ(Line("--help"), R"(nvidia-ctk: NVIDIA's container toolkit by partita

Usage: nvidia-ctk [OPTIONS] COMMAND [OPTIONS]

Commands:
  cdi generate       Write a CDI specification of this machine's GPUs
  cdi list           List the CDI devices that engines find
  config             Print config.toml, and set keys in it
  config default     Print config.toml with every default
  hook               What CDI specifications call in containers
  runtime configure  Tell a container engine of the runtime

Not here:
  cdi transform                    cdi generate --driver-root DIR --dev-root DIR writes the paths meant
  info                             partita status and partita doctor show this machine
  system create-device-nodes       nvidia-modprobe -u -c 0 makes them; partita doctor names them
  system create-dev-char-symlinks  for each node: ln -s ../nvidia0 /dev/char/195:0

Options:
  --debug
  -d
  --quiet
  --config VALUE  $NVIDIA_CTK_CONFIG
  --help, -h      also behind a command
  --version, -v
)");
}

TEST_F(Ctk, AGroupAloneTellsWhatCanFollow) {
  EXPECT_EQ(Line("runtime"), R"(Usage: nvidia-ctk runtime COMMAND [OPTIONS]

Commands:
  runtime configure  Tell a container engine of the runtime
)");
  EXPECT_EQ(Line("cdi"), Line("cdi --help"));
  EXPECT_EQ(Line("cdi"), Line("help cdi"));
  EXPECT_NE(Line("cdi").find("cdi generate "), std::string::npos);
}

TEST_F(Ctk, ACommandTellsItsFlags) {
  EXPECT_EQ(Line("config default -h"),
            R"(nvidia-ctk config default: Print config.toml with every default

Usage: nvidia-ctk config default [OPTIONS]

Options:
  --output, -o VALUE

It is partita runtime config --default: partita help runtime config says what each does.
)");
  EXPECT_EQ(Line("help cdi generate"), Line("cdi generate --help"));
  EXPECT_EQ(Line("cdi generate --device-id 0 -h"), Line("cdi generate --help"));
  EXPECT_EQ(Line("config --set a=b --help"), Line("config --help"));
  EXPECT_NE(
      Line("cdi generate --help").find("  --device-id, --device-ids, --device, --devices VALUE"),
      std::string::npos)
      << Line("cdi generate --help");
}

TEST_F(Ctk, Config) {
  EXPECT_EQ(Line("config"), "runtime config");
  EXPECT_EQ(Line("config --in-place --set a=b,c --set=d --config-file /f"),
            "runtime config --config /f --set a=b,c --set d --in-place");
  EXPECT_EQ(Line("--config /g config -c /f -o /o"), "runtime config /o --config /f");
  EXPECT_EQ(Line("--config /g config"), "runtime config --config /g");
  EXPECT_EQ(Line("config default --output /o"), "runtime config --default /o");
  EXPECT_EQ(Line("config bogus"), "error: unexpected word \"bogus\"");
}

}  // namespace
}  // namespace partita::cli
