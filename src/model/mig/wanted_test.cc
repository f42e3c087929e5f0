#include "model/mig/wanted.h"

#include <gtest/gtest.h>

#include "model/testing/product_geometry.h"

namespace partita::model {
namespace {

using testing::kA100;
using testing::ProductGeometry;

// The device's name, or what is wrong and what to do.
std::string Resolved(const MigGeometry& geometry, std::string_view text) {
  const auto device = ResolveProfile(geometry, text);
  if (device.ok()) return DeviceName(geometry, *device);
  return device.error().message() + "; " + device.error().hint();
}

TEST(ResolveProfile, AcceptsEverySpelling) {
  struct Case {
    const char* product;
    const char* text;
    const char* name;
  };
  const std::vector<Case> cases = {
      {kA100, "1g.5gb", "1g.5gb"},
      {kA100, "MIG 1g.5gb", "1g.5gb"},
      {kA100, "1c.1g.5gb", "1g.5gb"},
      {kA100, "1g.5gb+me", "1g.5gb+me"},
      {kA100, "1c.3g.20gb", "1c.3g.20gb"},
      {kA100, "3c.3g.20gb", "3g.20gb"},
      {kA100, "4c.7g.40gb", "4c.7g.40gb"},
      {kA100, "1g", "1g.5gb"},
      {kA100, "1g*2", "1g.10gb"},
      {kA100, "1g+me", "1g.5gb+me"},
      {kA100, "2c.3g", "2c.3g.20gb"},
      {kA100, "id:19", "1g.5gb"},
      {kA100, "id:15", "1g.10gb"},
      {kA100, "id:9/1c", "1c.3g.20gb"},
      {kA100, "1_SLICE", "1g.5gb"},
      {kA100, "NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2", "1g.10gb"},
      {kA100, "7_SLICE/3c", "3c.7g.40gb"},
      {"H200", "1g", "1g.18gb"},
      {"H200", "1g*2", "1g.35gb"},
      {"A30", "id:14", "1g.6gb"},
      {"A30", "2g+me", "2g.12gb+me"},
      {"RTX-PRO-6000", "1g+me.all", "1g.24gb+me.all"},
      {"RTX-PRO-6000", "1g-me", "1g.24gb-me"},
      {"RTX-PRO-6000", "1_SLICE_NO_ME", "1g.24gb-me"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(Resolved(ProductGeometry(c.product), c.text), c.name) << c.product << " " << c.text;
}

TEST(ResolveProfile, AcceptsTheDriversNameBesideTheComputedOne) {
  std::vector<GpuInstanceProfile> profiles = ProductGeometry("H200", {0}).profiles;
  profiles[0].nvml_name = "1g.20gb";
  const MigGeometry geometry = MigGeometry::Of(profiles);
  EXPECT_EQ(Resolved(geometry, "1g.18gb"), "1g.18gb");
  EXPECT_EQ(Resolved(geometry, "1g.20gb"), "1g.18gb");
}

TEST(ResolveProfile, SaysWhatTheGpuHasInstead) {
  struct Case {
    const char* product;
    const char* text;
    const char* error;
  };
  const std::vector<Case> cases = {
      {"H200", "1g.18bg",
       "\"1g.18bg\" is no MIG profile; write it like 1g.5gb, 1c.3g.20gb, 1g.10gb+me, 1g, id:19 or "
       "1_SLICE_REV1"},
      {"H200", "1g.20gb", "unknown MIG profile \"1g.20gb\"; did you mean \"1g.18gb\"?"},
      {"H200", "1g.40gb", "unknown MIG profile \"1g.40gb\"; did you mean \"1g.35gb\"?"},
      {"H200", "3g.72gb", "unknown MIG profile \"3g.72gb\"; did you mean \"3g.71gb\"?"},
      {"H200", "2c.3g.72gb", "unknown MIG profile \"2c.3g.72gb\"; did you mean \"2c.3g.71gb\"?"},
      {"H200", "1g.20gb+me", "unknown MIG profile \"1g.20gb+me\"; did you mean \"1g.18gb+me\"?"},
      {"A30", "id:19",
       "unknown MIG profile \"id:19\"; this GPU has 4g.24gb, 2g.12gb, 2g.12gb+me, 1g.6gb, "
       "1g.6gb+me"},
      {"A30", "1g*2",
       "unknown MIG profile \"1g*2\"; this GPU has 4g.24gb, 2g.12gb, 2g.12gb+me, 1g.6gb, "
       "1g.6gb+me"},
      {"A30", "6_SLICE",
       "unknown MIG profile \"6_SLICE\"; this GPU has 4g.24gb, 2g.12gb, 2g.12gb+me, 1g.6gb, "
       "1g.6gb+me"},
      {kA100, "3c.4g.20gb",
       "\"3c.4g.20gb\": 4g.20gb has no compute instance of 3 slices; it has 1, "
       "2 or 4"},
      {kA100, "2c.1g.5gb", "\"2c.1g.5gb\": 1g.5gb has no compute instance of 2 slices; it has 1"},
      {kA100, "id:9/0c",
       "\"id:9/0c\": 3g.20gb has no compute instance of 0 slices; it has 1, 2 or "
       "3"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(Resolved(ProductGeometry(c.product), c.text), c.error) << c.text;
}

TEST(ResolveProfile, SaysThatADriverListsNothing) {
  EXPECT_EQ(Resolved({}, "1g.5gb"),
            "unknown MIG profile \"1g.5gb\"; the driver lists no profiles of this GPU; older ones "
            "list them only while MIG is on");
}

TEST(ProfileRequest, RefusesWhatNoSpellingAllows) {
  for (const char* text :
       {"", "g", "id:", "id:x", "id:9/", "id:9/1", "id:9/1c/1c", "1g*3", "1g*2*2", "9_SLICE",
        "1_slice", "3_SLICE/c", "*2", "1c.", "1g.5gb*2", "1g+", "id:99999999999"}) {
    EXPECT_FALSE(ProfileRequest::Parse(text).ok()) << text;
  }
}

TEST(ProfileNames, ListsTheLargestFirst) {
  EXPECT_EQ(ProfileNames(ProductGeometry(kA100)),
            (std::vector<std::string>{"7g.40gb", "4g.20gb", "3g.20gb", "2g.10gb", "1g.10gb",
                                      "1g.5gb", "1g.5gb+me"}));
}

}  // namespace
}  // namespace partita::model
