#include "service/mps/record.h"

#include <gtest/gtest.h>

namespace partita::service::mps {
namespace {

Record Sample() {
  return {.domain = {.name = "nvidia.com_gpu",
                     .members = {{.uuid = "GPU-a",
                                  .pci = {.domain = 0, .bus = 7, .device = 0, .function = 0},
                                  .memory = model::Bytes(150'754'820'096),
                                  .mig = false,
                                  .capability = {9, 0},
                                  .compute = {}},
                                 {.uuid = "MIG-b",
                                  .pci = {.domain = 0, .bus = 8, .device = 0, .function = 0},
                                  .memory = model::Bytes(18'253'611'008),
                                  .mig = true,
                                  .capability = {9, 0},
                                  .compute = {1, 7}}},
                     .memory = {model::Mebibytes(71885), model::Mebibytes(17408)},
                     .threads = model::Percent(50)},
          .process = {.pid = model::Pid(4711), .start_time = 123456789, .boot_id = "b-1"},
          .limited = false};
}

TEST(Record, ComesBackAsItWas) {
  const base::Result<Record> read = Decode(Encode(Sample()));
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, Sample());
}

// Not every client ends with the upgrade of an agent that did not write this.
TEST(Record, OfAnOlderAgentIsOfADaemonWithoutUnlimitedServers) {
  std::string record = Encode(Sample());
  const std::string_view member = ",\n  \"limited\": false";
  const std::size_t at = record.find(member);
  ASSERT_NE(at, std::string::npos) << record;
  const base::Result<Record> read = Decode(record.erase(at, member.size()));
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_TRUE(read->limited);
}

TEST(Record, WhatIsWrongIsNamed) {
  const auto without = [](std::string_view text, std::string_view by) {
    std::string record = Encode(Sample());
    const std::size_t at = record.find(text);
    EXPECT_NE(at, std::string::npos) << text;
    record.replace(at, text.size(), by);
    const base::Result<Record> read = Decode(record);
    return read.ok() ? std::string("ok") : read.error().ToString();
  };
  EXPECT_EQ(without("\"pid\": 4711", "\"pid\": 1"),
            "the record of an MPS domain has no usable \"pid\"");
  EXPECT_EQ(without("nvidia.com_gpu", "../x"),
            "the record of an MPS domain has no usable \"name\"");
  EXPECT_EQ(without("\"limitMiB\": 17408", "\"limitMiB\": \"x\""),
            "the record of an MPS domain has no usable \"limitMiB\"");
  EXPECT_EQ(without("0000:07:00.0", "nowhere"),
            "the record of an MPS domain has no usable \"pci\"");
  EXPECT_EQ(without("\"threadPercentage\": 50", "\"threadPercentage\": 101"),
            "the record of an MPS domain has no usable \"threadPercentage\"");
  EXPECT_EQ(without("\"limited\": false", "\"limited\": 0"),
            "the record of an MPS domain has no usable \"limited\"");
  EXPECT_EQ(without("\"bootId\"", "\"newer\": [], \"bootId\""), "ok");
  EXPECT_FALSE(Decode("").ok());
  EXPECT_FALSE(Decode("[]").ok());
}

}  // namespace
}  // namespace partita::service::mps
