#include "hook/runtime/arguments.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"

namespace partita::hook {
namespace {

RuntimeCall Read(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : base::SplitWords(line)) words.emplace_back(word);
  const auto call = ReadRuntimeArguments(words);
  EXPECT_TRUE(call.ok()) << line;
  return call.ok() ? *call : RuntimeCall{};
}

TEST(RuntimeArguments, AsContainerdCallsIt) {
  const RuntimeCall call = Read(
      "--root /run/r --log /run/b/log.json --log-format json --systemd-cgroup create --bundle "
      "/run/b "
      "--pid-file /run/b/init.pid 0123");
  EXPECT_TRUE(call.create);
  EXPECT_EQ(call.bundle, "/run/b");
  EXPECT_EQ(call.log, "/run/b/log.json");
  EXPECT_EQ(call.log_format, "json");
  EXPECT_FALSE(call.debug || call.version);
}

TEST(RuntimeArguments, R10ABundleMayBeCalledCreate) {
  EXPECT_TRUE(Read("--root X create -b create id").create);
  EXPECT_EQ(Read("--root X create -b create id").bundle, "create");
  EXPECT_FALSE(Read("-b create id").create);
  EXPECT_FALSE(Read("--bundle create").create);
  EXPECT_TRUE(Read("--bundle create create").create);
}

TEST(RuntimeArguments, EveryFormOfTheBundle) {
  for (const char* flag : {"-b X", "-b=X", "-bundle X", "-bundle=X", "--bundle X", "--bundle=X",
                           "--bundle Y --bundle X", "-b Y -bundle=X"})
    EXPECT_EQ(Read(std::string("create ") + flag + " id").bundle, "X") << flag;
  EXPECT_EQ(Read("create id").bundle, "");
  EXPECT_EQ(Read("create --bundle= id").bundle, "");
}

TEST(RuntimeArguments, OnlyACreateNeedsTheBundlesValue) {
  const std::vector<std::string> words = {"create", "id", "--bundle"};
  EXPECT_EQ(ReadRuntimeArguments(words).error().ToString(), "bundle option requires an argument");
  EXPECT_FALSE(Read("state id -b").create);
}

TEST(RuntimeArguments, OtherCommandsAreNone) {
  for (const char* line :
       {"", "delete create", "--root create state x", "--log create kill create 9", "start id",
        "exec id create", "--version", "--root=create list"})
    EXPECT_FALSE(Read(line).create) << line;
  // A flag of a runtime that we do not know, with its value.
  EXPECT_TRUE(Read("--platform kvm create id").create);
}

TEST(RuntimeArguments, LogAndVersion) {
  EXPECT_EQ(Read("--log=/l --log-format=text create x").log, "/l");
  EXPECT_EQ(Read("-log /a --log /b create x").log, "/b");
  EXPECT_TRUE(Read("--debug create x").debug);
  EXPECT_FALSE(Read("--debug=false create x").debug);
  EXPECT_TRUE(Read("-version").version);
  EXPECT_EQ(Read("create --log").log, "");
}

}  // namespace
}  // namespace partita::hook
