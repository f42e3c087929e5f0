#include "request/request.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::request {
namespace {

using base::Value;
using cdi::Capability;
using Texts = std::vector<std::string>;

// A container, as much of it as requests are read from.
struct Container {
  Texts env{};
  Texts null_mounts{};
  std::vector<std::pair<std::string, std::string>> annotations{};
  bool privileged = false;
};

oci::Spec Made(const Container& container) {
  Value env = Value::List(), mounts = Value::List(), annotations = Value::Map();
  for (const std::string& entry : container.env) env.Add(entry);
  for (const std::string& path : container.null_mounts)
    mounts.Add(Value::Map().Set("destination", path).Set("source", "/dev/null"));
  for (const auto& [key, value] : container.annotations) annotations.Set(key, value);
  Value bounding = Value::List();
  if (container.privileged) bounding.Add("CAP_SYS_ADMIN");
  Value process = Value::Map().Set("env", std::move(env));
  process.Set("capabilities", Value::Map().Set("bounding", std::move(bounding)));
  auto spec = oci::Spec::Parse(base::ToJsonLine(Value::Map()
                                                    .Set("process", std::move(process))
                                                    .Set("mounts", std::move(mounts))
                                                    .Set("annotations", std::move(annotations))));
  EXPECT_TRUE(spec.ok()) << spec.error().ToString();
  return *std::move(spec);
}

Request Of(const Container& container,
           const config::ToolkitConfig& config = {},
           bool with_annotations = false) {
  auto request = ReadRequest(Made(container), config, with_annotations);
  EXPECT_TRUE(request.ok()) << request.error().ToString();
  return *std::move(request);
}
Request OfEnv(Texts env, const config::ToolkitConfig& config = {}) {
  return Of({.env = std::move(env)}, config);
}
std::string Error(const Container& container, const config::ToolkitConfig& config = {}) {
  const auto request = ReadRequest(Made(container), config, false);
  return request.ok() ? "(no error)" : request.error().ToString();
}
// With which words the request ends up.
std::string Told(const Request& request) {
  switch (request.kind) {
    case Kind::kNotGpu: return "-";
    case Kind::kNone: return "none";
    case Kind::kAll: return "all";
    case Kind::kDevices: break;
  }
  std::string text;
  for (const std::string& id : request.devices) text += (text.empty() ? "" : " ") + id;
  return text;
}
std::string Visible(const std::string& value) {
  return Told(OfEnv({"NVIDIA_VISIBLE_DEVICES=" + value}));
}

TEST(Request, R1LastVariableWins) {
  EXPECT_EQ(Told(OfEnv({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=1"})), "1");
}

TEST(Request, R2ARepeatedIdIsOne) { EXPECT_EQ(Visible("0,0"), "0"); }

TEST(Request, AListMayBeLong) {
  std::string list;
  for (int i = 0; i < 300'000; ++i) list += std::to_string(i % 100'000) + ',';
  EXPECT_EQ(OfEnv({"NVIDIA_VISIBLE_DEVICES=" + list}).devices.size(), 100'000U);
}

TEST(Request, R3WordsAndSpaces) {
  EXPECT_EQ(Visible("0, 1 ,"), "0 1");
  EXPECT_EQ(Visible("0,void"), "-");
  EXPECT_EQ(Visible("none"), "none");
  EXPECT_EQ(Visible("all,0"), "all");
  EXPECT_EQ(Visible("0,all"), "all");
  EXPECT_EQ(Visible("none,all"), "none");
  EXPECT_EQ(Visible("all,none"), "all");
}

TEST(Request, VoidAnywhere) {
  EXPECT_EQ(Visible("void"), "-");
  EXPECT_EQ(Visible("all,void"), "-");
  EXPECT_EQ(Visible(""), "-");
  EXPECT_EQ(Visible(" , "), "-");
  EXPECT_EQ(Told(OfEnv({})), "-");
  EXPECT_EQ(Told(OfEnv({"NVIDIA_VISIBLE_DEVICES"})), "-");
}

TEST(Request, EveryFormOfTheDocuments) {
  EXPECT_EQ(Visible("0:0,0:1,MIG-GPU-a/4/0,MIG-b,GPU-c,00000000:07:00.0,nvidia.com/gpu=0"),
            "0:0 0:1 MIG-GPU-a/4/0 MIG-b GPU-c 00000000:07:00.0 nvidia.com/gpu=0");
}

config::ToolkitConfig Strict(bool mounts) {
  config::ToolkitConfig config;
  config.accept_envvar_unprivileged = false;
  config.accept_volume_mounts = mounts;
  return config;
}
const Container kEnvAndMount = {.env = {"NVIDIA_VISIBLE_DEVICES=all"},
                                .null_mounts = {"/var/run/nvidia-container-devices/0"}};

TEST(Request, R4MountsComeBeforeTheEnvironment) {
  const Request request = Of(kEnvAndMount, Strict(true));
  EXPECT_EQ(Told(request), "0");
  EXPECT_EQ(request.source, Source::kMounts);
  EXPECT_EQ(request.warnings, Texts());
}

TEST(Request, R5UnprivilegedEnvIsIgnoredWithWarning) {
  const Request request = Of(kEnvAndMount, Strict(false));
  EXPECT_EQ(Told(request), "-");
  EXPECT_EQ(request.source, Source::kNothing);
  EXPECT_EQ(request.warnings,
            Texts{"devices of NVIDIA_VISIBLE_DEVICES are ignored: the container is not privileged, "
                  "and accept-nvidia-visible-devices-envvar-when-unprivileged is false"});
  Container privileged = kEnvAndMount;
  privileged.privileged = true;
  EXPECT_EQ(Told(Of(privileged, Strict(false))), "all");
  // Nothing was asked for: nothing to warn of.
  EXPECT_EQ(OfEnv({"NVIDIA_VISIBLE_DEVICES=void"}, Strict(false)).warnings, Texts());
}

config::ToolkitConfig WithMounts() {
  config::ToolkitConfig config;
  config.accept_volume_mounts = true;
  return config;
}
Request OfMounts(const Texts& below) {
  Container container;
  for (const std::string& path : below)
    container.null_mounts.push_back("/var/run/nvidia-container-devices" + path);
  return Of(container, WithMounts());
}

TEST(Request, R6MountsNameCdiDevices) {
  EXPECT_EQ(Told(OfMounts({"/cdi/nvidia.com/gpu/0", "/cdi/nvidia.com/gpu=1:2"})),
            "nvidia.com/gpu=0 nvidia.com/gpu=1:2");
  EXPECT_EQ(Told(OfMounts({"/MIG-GPU-x/1/0", "//1/"})), "MIG-GPU-x/1/0 1");
}

TEST(Request, MountNeedsPathBoundary) { EXPECT_EQ(Told(OfMounts({"-of-others/0", ""})), "-"); }

TEST(Request, AMountThatNamesNothingIsAWarning) {
  const Request request = OfMounts({"/../../../etc", "/cdi/gpu", "/"});
  EXPECT_EQ(Told(request), "-");
  ASSERT_EQ(request.warnings.size(), 3U);
  EXPECT_EQ(
      request.warnings[0],
      "the mount \"/var/run/nvidia-container-devices/../../../etc\" asks for no device: it is "
      "ignored");
}

TEST(Request, OnlyNullIsARequestByMount) {
  auto spec = oci::Spec::Parse(
      R"({"mounts":[{"destination":"/var/run/nvidia-container-devices/0","source":"/dev/zero"}]})");
  EXPECT_EQ(Told(*ReadRequest(*spec, WithMounts(), false)), "-");
}

TEST(Request, R7SwarmVariablesOverride) {
  config::ToolkitConfig config;
  config.swarm_resource = "A, B,C";
  EXPECT_EQ(Told(OfEnv({"A=0", "B=1", "NVIDIA_VISIBLE_DEVICES=all"}, config)), "0 1");
  EXPECT_EQ(Told(OfEnv({"A=", "NVIDIA_VISIBLE_DEVICES=all"}, config)), "-");
  EXPECT_EQ(Told(OfEnv({"NVIDIA_VISIBLE_DEVICES=all"}, config)), "all");
}

TEST(Request, AnnotationsWinWhereTheyAreAsked) {
  const Container container = {
      .env = {"NVIDIA_VISIBLE_DEVICES=all"},
      .annotations = {{"cdi.k8s.io/b", "nvidia.com/gpu=1"},
                      {"cdi.k8s.io/a", "nvidia.com/gpu=0,nvidia.com/gpu=1"},
                      {"other.io/x", "nvidia.com/gpu=7"}}};
  const Request request = Of(container, Strict(false), true);
  EXPECT_EQ(Told(request), "nvidia.com/gpu=0 nvidia.com/gpu=1");
  EXPECT_EQ(request.source, Source::kAnnotations);
  EXPECT_TRUE(request.OnlyQualified());
  EXPECT_EQ(Told(Of(container)), "all");
}

TEST(Request, OnlyQualifiedNeedsADevice) {
  EXPECT_FALSE(OfEnv({}).OnlyQualified());
  EXPECT_FALSE(OfEnv({"NVIDIA_VISIBLE_DEVICES=all"}).OnlyQualified());
  EXPECT_FALSE(OfEnv({"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0,1"}).OnlyQualified());
  EXPECT_TRUE(OfEnv({"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0"}).OnlyQualified());
}

TEST(Request, LegacyImage) {
  const Request request = OfEnv({"CUDA_VERSION=9.2.148"});
  EXPECT_EQ(Told(request), "all");
  EXPECT_EQ(request.capabilities.size(), 7U);
  EXPECT_EQ(request.requirements, Texts{"cuda>=9.2"});
  EXPECT_EQ(Told(OfEnv({"CUDA_VERSION=9.2", "NVIDIA_VISIBLE_DEVICES="})), "-");
  EXPECT_EQ(Told(OfEnv({"CUDA_VERSION=12.4", "NVIDIA_REQUIRE_CUDA=cuda>=12.4"})), "-");
  // Told by whoever evaluates it.
  EXPECT_EQ(OfEnv({"CUDA_VERSION=x"}).requirements, Texts{"cuda>=x"});
}

std::set<Capability> CapabilitiesOf(const std::string& value) {
  const Request request =
      OfEnv({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=" + value});
  EXPECT_FALSE(request.capability_error.has_value());
  return request.capabilities;
}

TEST(Request, Capabilities) {
  const std::set<Capability> usual = {Capability::kUtility, Capability::kCompute};
  EXPECT_EQ(OfEnv({"NVIDIA_VISIBLE_DEVICES=all"}).capabilities, usual);
  EXPECT_EQ(CapabilitiesOf(""), usual);
  EXPECT_EQ(CapabilitiesOf("video, ngx"),
            (std::set<Capability>{Capability::kVideo, Capability::kNgx}));
  EXPECT_EQ(CapabilitiesOf("compute,all").size(), 7U);
}

TEST(Request, UnsupportedCapabilitiesAreKeptForWhoMountsByThem) {
  const Texts env = {"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,3d"};
  const Request request = OfEnv(env);
  ASSERT_TRUE(request.capability_error.has_value());
  EXPECT_EQ(request.capability_error->ToString(),
            "unsupported capabilities found in NVIDIA_DRIVER_CAPABILITIES \"compute,3d\"");
  config::ToolkitConfig config;
  config.supported_capabilities = "utility";
  EXPECT_EQ(OfEnv({"NVIDIA_VISIBLE_DEVICES=all"}, config).capabilities,
            std::set<Capability>{Capability::kUtility});
  EXPECT_TRUE(OfEnv({env[0], "NVIDIA_DRIVER_CAPABILITIES=compute"}, config).capability_error);
  config.supported_capabilities = "all";
  EXPECT_EQ(OfEnv({env[0], "NVIDIA_DRIVER_CAPABILITIES=all"}, config).capabilities.size(), 7U);
  config.supported_capabilities = "utility,magic";
  EXPECT_EQ(OfEnv({env[0]}, config).capability_error->ToString(),
            "supported-driver-capabilities has \"magic\"");
}

TEST(Request, RequirementsButJetpack) {
  const std::string all = "NVIDIA_VISIBLE_DEVICES=all";
  EXPECT_EQ(OfEnv({all, "NVIDIA_REQUIRE_DRIVER=driver>=1", "NVIDIA_REQUIRE_CUDA=cuda>=9",
                   "NVIDIA_REQUIRE_CUDA=cuda>=8", "NVIDIA_REQUIRE_JETPACK=csv-mounts=all",
                   "NVIDIA_REQUIRE_X= "})
                .requirements,
            (Texts{"cuda>=8", "driver>=1"}));
  EXPECT_EQ(OfEnv({all, "NVIDIA_REQUIRE_CUDA=cuda>=9", "NVIDIA_DISABLE_REQUIRE=T"}).requirements,
            Texts());
  config::ToolkitConfig config;
  config.disable_require = true;
  EXPECT_EQ(OfEnv({all, "NVIDIA_REQUIRE_CUDA=cuda>=9"}, config).requirements, Texts());
}

TEST(Request, MigVariablesNeedPrivilegeAndWholeGpus) {
  const Texts env = {"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_MIG_CONFIG_DEVICES=all",
                     "NVIDIA_MIG_MONITOR_DEVICES=all"};
  EXPECT_EQ(Error({.env = env}), "cannot set MIG_CONFIG_DEVICES in non privileged container");
  EXPECT_EQ(Error({.env = {env[0], env[2]}}),
            "cannot set MIG_MONITOR_DEVICES in non privileged container");
  const Request request = Of({.env = env, .privileged = true});
  EXPECT_TRUE(request.mig_config && request.mig_monitor);
  EXPECT_EQ(Error({.env = {env[0], "NVIDIA_MIG_CONFIG_DEVICES=0"}, .privileged = true}),
            "NVIDIA_MIG_CONFIG_DEVICES is \"0\"");
  for (const char* id : {"0:0", "MIG-11111111-1111-1111-1111-111111111111",
                         "MIG-GPU-11111111-1111-1111-1111-111111111111/1/0"}) {
    EXPECT_EQ(
        Error({.env = {std::string("NVIDIA_VISIBLE_DEVICES=") + id, env[1]}, .privileged = true}),
        "cannot set MIG_CONFIG_DEVICES for a container of MIG device \"" + std::string(id) + "\"");
  }
  // Not a GPU container, and one of CDI files: the variables say nothing.
  EXPECT_EQ(Error({.env = {env[1]}}), "(no error)");
  EXPECT_EQ(Error({.env = {"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0", env[1]}}), "(no error)");
}

TEST(Request, ImexChannels) {
  const std::string all = "NVIDIA_VISIBLE_DEVICES=all";
  EXPECT_EQ(OfEnv({all, "NVIDIA_IMEX_CHANNELS=0, 7,0"}).imex_channels, (Texts{"0", "7"}));
  EXPECT_EQ(OfEnv({all, "NVIDIA_IMEX_CHANNELS=all"}).imex_channels, Texts());
  EXPECT_EQ(OfEnv({"NVIDIA_IMEX_CHANNELS=0"}).imex_channels, Texts());
  for (const char* wrong : {"../1", "-1", "01", "4294967296", "0x1"})
    EXPECT_NE(Error({.env = {all, std::string("NVIDIA_IMEX_CHANNELS=") + wrong}}), "(no error)");
  EXPECT_EQ(OfMounts({"/0", "/imex/3"}).imex_channels, Texts{"3"});
  config::ToolkitConfig config;
  config.ignore_imex_channel_requests = true;
  EXPECT_EQ(OfEnv({all, "NVIDIA_IMEX_CHANNELS=0"}, config).imex_channels, Texts());
  // Mounts ask for the GPU, the environment is not believed.
  Container unprivileged = kEnvAndMount;
  unprivileged.env.emplace_back("NVIDIA_IMEX_CHANNELS=0");
  const Request request = Of(unprivileged, Strict(true));
  EXPECT_EQ(request.imex_channels, Texts());
  EXPECT_EQ(request.warnings, Texts{"NVIDIA_IMEX_CHANNELS is ignored: the container is not "
                                    "privileged"});
}

TEST(Request, GatedModes) {
  EXPECT_EQ(OfEnv({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_GDRCOPY=enabled", "NVIDIA_GDS=enabled",
                   "NVIDIA_MOFED=1", "NVIDIA_NVSWITCH=enabled"})
                .gated_modes,
            (Texts{"gds", "gdrcopy", "nvswitch"}));
}

}  // namespace
}  // namespace partita::request
