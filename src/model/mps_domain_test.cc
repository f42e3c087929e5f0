#include "model/mps_domain.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::model {
namespace {

TEST(MpsDomain, IsReadAsItWasWritten) {
  const std::vector<MpsDomain> domains = {
      {.name = "GPU-a", .devices = {"GPU-a"}, .problem = "", .kept = true},
      {.name = "GPU-d", .devices = {"GPU-d"}, .problem = "", .warning = "it is not exclusive"},
      {.name = "nvidia.com_gpu",
       .devices = {"GPU-b", "GPU-c"},
       .problem = "its daemon has ended",
       .kept = false}};
  const auto read = ReadMpsDomains(base::ParseJson(base::ToJson(ToValue(domains))).value());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, domains);
}

TEST(MpsDomain, IsNothingElse) {
  const auto why = [](const char* text) {
    const auto read = ReadMpsDomains(base::ParseJson(text).value());
    return read.ok() ? std::string() : read.error().ToString();
  };
  EXPECT_EQ(why("{}"), "a domain of MPS: they are no list");
  EXPECT_EQ(why(R"([{"devices": []}])"), "a domain of MPS: name is no text");
  EXPECT_EQ(why(R"([{"name": "a"}])"), "a domain of MPS: devices is no list");
  EXPECT_EQ(why(R"([{"name": "a", "devices": [1]}])"), "a domain of MPS: a device is no text");
  EXPECT_EQ(why("[]"), "");
}

}  // namespace
}  // namespace partita::model
