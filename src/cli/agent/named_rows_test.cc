#include "cli/agent/named_rows.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::cli {
namespace {

config::AgentConfig Configured(const std::string& plugin) {
  auto config = config::ParseAgentConfig("version: partita/v1\ndevicePlugin: {" + plugin + "}\n",
                                         "c.yaml", {});
  PARTITA_CHECK(config.ok());
  return *std::move(config);
}

std::string Told(const config::AgentConfig& config, const base::Value& report) {
  std::string text;
  for (const auto& [key, setting] : NamedRows(config, report))
    text += key + "|" + setting.value + "|" + std::string(ToString(setting.origin.kind)) + "|" +
            setting.origin.where + "\n";
  return text;
}

TEST(NamedRows, SayWhatTheAgentSays) {
  const auto report = base::ParseJson(
      R"({"source":"configmap/gpu/plugin","label":{"key":"nvidia.com/device-plugin.config","value":"tz4"},)"
      R"("name":"ts4","by":"label","where":"configmap/gpu/plugin/ts4","rejected":"no such\n  more",)"
      R"("settings":[{"key":"devicePlugin.config.flags.migStrategy","value":"mixed","where":"configmap/gpu/plugin/ts4:2:5"}]})");
  EXPECT_EQ(Told(Configured("configMap: gpu/plugin"), *report),
            "devicePlugin.label|tz4|label|label nvidia.com/device-plugin.config\n"
            "devicePlugin.selected|ts4|label|label\n"
            "devicePlugin.rejected|no such|default|the last good one is in force\n"
            "devicePlugin.config.flags.migStrategy|mixed|configmap|configmap/gpu/plugin/ts4:2:5\n");
}

TEST(NamedRows, WithoutAnAgentSayWhatIsNotKnown) {
  EXPECT_EQ(Told(Configured("configMap: gpu/plugin"), {}),
            "devicePlugin.label||label|label nvidia.com/device-plugin.config: not known, no agent "
            "answers\n"
            "devicePlugin.selected||configmap|not known, no agent answers\n");
  EXPECT_EQ(
      Told(Configured("configDir: /nowhere/at/all"), {}),
      "devicePlugin.label||label|label nvidia.com/device-plugin.config: not known, no agent "
      "answers\n"
      "devicePlugin.rejected|open directory /nowhere/at/all: No such file or directory (errno "
      "2)|default|nothing "
      "is offered\n");
}

TEST(NamedRows, AreNoneWhereOneIsWrittenDown) {
  EXPECT_EQ(Told(Configured("config: {version: v1}"), {}), "");
}

}  // namespace
}  // namespace partita::cli
