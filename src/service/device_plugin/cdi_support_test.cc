#include "service/device_plugin/cdi_support.h"

#include <gtest/gtest.h>

#include "net/rpc/wire.h"

namespace partita::service::device_plugin {
namespace {

using net::rpc::WireWriter;

std::string With(std::string name, std::string version, std::optional<bool> cdi = {}) {
  return CdiDisabled(SeenEngine{std::move(name), std::move(version), cdi}, std::nullopt);
}

TEST(CdiSupport, IsNotThereBeforeContainerd17) {
  EXPECT_EQ(With("containerd", "1.6.20~ds1"),
            "CdiDisabled: containerd 1.6.20~ds1 has no CDI: install containerd 1.7 or newer, or "
            "choose another flags.plugin.deviceListStrategy");
  EXPECT_NE(With("containerd", "v1.5.2", true), "");
}

TEST(CdiSupport, OfContainerd17MustBeSeen) {
  EXPECT_EQ(With("containerd", "1.7.24", false),
            "CdiDisabled: containerd 1.7.24 has CDI switched off: on the node run `partita runtime "
            "configure --runtime containerd --enable-cdi` and restart containerd, or choose "
            "another flags.plugin.deviceListStrategy");
  EXPECT_EQ(With("containerd", "1.7.24"), With("containerd", "1.7.24", false));
  EXPECT_EQ(With("containerd", "1.7.24", true), "");
  EXPECT_EQ(With("containerd", "v2.0.0-rc.1"), "");
  EXPECT_EQ(With("containerd", "2.4.2+unknown"), "");
}

TEST(CdiSupport, IsNotThereBeforeCrio127) {
  EXPECT_EQ(With("cri-o", "1.26.4"),
            "CdiDisabled: CRI-O 1.26.4 takes no CDI devices from kubelet: install CRI-O 1.27 or "
            "newer, or choose another flags.plugin.deviceListStrategy");
  EXPECT_EQ(With("cri-o", "1.27.0"), "");
}

TEST(CdiSupport, IsNotThereBeforeKubelet129) {
  EXPECT_EQ(CdiDisabled(std::nullopt, "v1.28.15"),
            "CdiDisabled: kubelet v1.28.15 hands no CDI devices to engines: install kubelet 1.29 "
            "or newer, or choose another flags.plugin.deviceListStrategy");
  EXPECT_EQ(CdiDisabled(std::nullopt, "v1.29.0"), "");
  EXPECT_EQ(CdiDisabled(std::nullopt, "v1.30.4+k3s1"), "");
}

TEST(CdiSupport, NobodyUnknownIsHeldAgainstTheNode) {
  EXPECT_EQ(CdiDisabled(std::nullopt, std::nullopt), "");
  EXPECT_EQ(With("dockershim", "0.1.0"), "");
  for (const char* version : {"", "1", "v", "one.two", "1.x", ".7", "-1.2"}) {
    EXPECT_EQ(With("containerd", version), "") << version;
    EXPECT_EQ(CdiDisabled(std::nullopt, version), "") << version;
  }
}

TEST(CdiSupport, AnEngineSaysWhoItIs) {
  const std::string message =
      WireWriter().Text(1, "0.1.0").Text(2, "containerd").Text(3, "1.7.24").Text(4, "v1").Take();
  EXPECT_EQ(ReadEngineVersion(message).value(), (SeenEngine{"containerd", "1.7.24", {}}));
  EXPECT_FALSE(ReadEngineVersion(message.substr(0, message.size() - 1)).ok());
}

TEST(CdiSupport, AnEngineShowsItsConfiguration) {
  const auto status = [](std::string_view config) {
    return WireWriter().Message(1, "").Entry(2, "golang", "\"go1.22\"").Entry(2, "config", config);
  };
  EXPECT_EQ(EngineStatusMessage(), std::string("\x08\x01", 2));
  EXPECT_EQ(ReadEngineCdi(status(R"({"enableCDI": true})").Take()).value(), true);
  EXPECT_EQ(ReadEngineCdi(status(R"({"enableCDI": false})").Take()).value(), false);
  EXPECT_EQ(ReadEngineCdi(status(R"({"enableCDI": "yes"})").Take()).value(), std::nullopt);
  EXPECT_EQ(ReadEngineCdi(status("[]").Take()).value(), std::nullopt);
  EXPECT_EQ(ReadEngineCdi(WireWriter().Message(1, "").Take()).value(), std::nullopt);
  EXPECT_FALSE(ReadEngineCdi(status("[crio]").Take()).ok());
}

}  // namespace
}  // namespace partita::service::device_plugin
