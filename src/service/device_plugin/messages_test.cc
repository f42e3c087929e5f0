#include "service/device_plugin/messages.h"

#include <gtest/gtest.h>

namespace partita::service::device_plugin {
namespace {

// Field `number` with these bytes, as protobuf writes it; both below 128.
std::string Field(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) +
         std::string(1, static_cast<char>(bytes.size())) + bytes;
}

TEST(Messages, RegisterSaysVersionSocketResourceAndOptions) {
  EXPECT_EQ(RegisterMessage("nvidia-gpu.sock", "nvidia.com/gpu"),
            "\x0a\x07v1beta1\x12\x0fnvidia-gpu.sock\x1a\x0envidia.com/gpu\x22\x02\x10\x01");
}

TEST(Messages, OptionsSayThatPreferencesCanBeAsked) { EXPECT_EQ(OptionsMessage(), "\x10\x01"); }

TEST(Messages, AListSaysHealthAndNumaNode) {
  const std::string list = ListMessage({{"a", true, std::nullopt}, {"b", false, 1}});
  EXPECT_EQ(list, Field(1, Field(1, "a") + Field(2, "Healthy")) +
                      Field(1, Field(1, "b") + Field(2, "Unhealthy") +
                                   Field(3, Field(1, std::string("\x08\x01", 2)))));
  EXPECT_EQ(ListMessage({}), "");
}

TEST(Messages, NumaNodeZeroIsANodeAndNotNone) {
  EXPECT_EQ(ListMessage({{"a", true, 0}}),
            Field(1, Field(1, "a") + Field(2, "Healthy") + Field(3, Field(1, ""))));
}

TEST(Messages, APreferenceIsReadWithItsSize) {
  const std::string container =
      Field(1, "a") + Field(1, "b") + Field(2, "b") + std::string("\x18\x02", 2);
  const auto read = ReadPrefer(Field(1, container));
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, (std::vector<PreferRequest>{{{"a", "b"}, {"b"}, 2}}));
}

TEST(Messages, ANegativeSizeAsksForNothing) {
  const std::string minus_one = "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  const auto read = ReadPrefer(Field(1, minus_one));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->at(0).size, 0U);
}

TEST(Messages, WhatNobodyKnowsIsLeftOut) {
  const auto read = ReadAllocate(Field(9, "x") + Field(1, Field(7, "y") + Field(1, "a")));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, (std::vector<std::vector<std::string>>{{"a"}}));
}

TEST(Messages, AnotherTypeIsRefused) {
  const auto read = ReadAllocate(Field(1, std::string("\x08\x05", 2)));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().ToString(), "field 1 has another type than it should have");
}

TEST(Messages, AnAnswerHasEverything) {
  Answer answer;
  answer.envs = {{"E", "1"}};
  answer.mounts = {{"/c", "/h", true}};
  answer.nodes = {{"/dev/a", "/dev/b", "rw"}};
  answer.annotations = {{"k", "v"}};
  answer.cdi_devices = {"x/y=z"};
  const std::string container = Field(1, Field(1, "E") + Field(2, "1")) +
                                Field(2, Field(1, "/c") + Field(2, "/h") + "\x18\x01") +
                                Field(3, Field(1, "/dev/a") + Field(2, "/dev/b") + Field(3, "rw")) +
                                Field(4, Field(1, "k") + Field(2, "v")) +
                                Field(5, Field(1, "x/y=z"));
  EXPECT_EQ(AllocateMessage({answer}), Field(1, container));
}

TEST(Messages, PreferredIdsOfEachContainer) {
  EXPECT_EQ(PreferMessage({{"a", "b"}, {}}),
            Field(1, Field(1, "a") + Field(1, "b")) + Field(1, ""));
}

// The fields of Kubernetes' definitions: pods have name 1, namespace 2, containers 3; a container
// name 1, devices 2; devices resource 1, ids 2, topology 3.
TEST(Messages, PodsAreReadWithWhatTheyHold) {
  const std::string devices = Field(1, "nvidia.com/gpu") + Field(2, "GPU-a") + Field(2, "GPU-b") +
                              Field(3, Field(1, std::string("\x08\x01", 2)));
  const std::string holds = Field(1, "main") + Field(2, devices) + Field(4, "memory");
  const std::string pod =
      Field(1, "train") + Field(2, "default") + Field(3, holds) + Field(3, Field(1, "sidecar"));
  const auto read = ReadPods(Field(1, pod) + Field(1, Field(1, "other") + Field(2, "default")));
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  ASSERT_EQ(read->devices.size(), 1U);
  EXPECT_EQ(read->devices.at(0).pod_namespace, "default");
  EXPECT_EQ(read->devices.at(0).pod, "train");
  EXPECT_EQ(read->devices.at(0).container, "main");
  EXPECT_EQ(read->devices.at(0).resource, "nvidia.com/gpu");
  EXPECT_EQ(read->devices.at(0).ids, (std::vector<std::string>{"GPU-a", "GPU-b"}));
  EXPECT_EQ(read->names, (std::vector<std::string>{"train", "other"}));
}

TEST(Messages, ThePodIsKnownAlsoWhereItsNameComesLast) {
  const std::string devices = Field(2, "GPU-a") + Field(1, "nvidia.com/gpu");
  const auto read = ReadPods(
      Field(1, Field(3, Field(2, devices) + Field(1, "main")) + Field(2, "ns") + Field(1, "p")));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->devices.size(), 1U);
  EXPECT_EQ(read->devices.at(0).pod, "p");
  EXPECT_EQ(read->devices.at(0).container, "main");
  EXPECT_EQ(read->devices.at(0).resource, "nvidia.com/gpu");
}

TEST(Messages, CutOffBytesAreRefused) {
  const std::string whole = Field(1, Field(1, "train") + Field(3, Field(1, "main")));
  for (std::size_t length = 1; length < whole.size(); ++length)
    EXPECT_FALSE(ReadPods(whole.substr(0, length)).ok()) << length;
}

}  // namespace
}  // namespace partita::service::device_plugin
