#include "base/state_file.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/sha256.h"

namespace partita::base {
namespace {

TEST(Sha256, EqualsThePublishedExamples) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

class StateFileTest : public testing::Test {
 protected:
  StateFileTest() {
    std::string pattern = testing::TempDir() + "/state.XXXXXX";
    directory_ = mkdtemp(pattern.data());
    file_ = {directory_ + "/below/mig.json", "mig", 1};
  }
  void TearDown() override { (void)RemoveTree(directory_); }

  std::string directory_;
  StateFile file_;
};

TEST_F(StateFileTest, ComesBackAsItWasWritten) {
  const Result<StateRead> nothing = ReadState(file_);
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing->payload);
  ASSERT_TRUE(WriteState(file_, "{\"a\": 1}\n").ok());
  EXPECT_EQ(ReadState(file_)->payload, "{\"a\": 1}\n");
  EXPECT_EQ(ReadFile(file_.path).value().substr(0, 21), "partita-mig 1 sha256=");
}

TEST_F(StateFileTest, DamagedIsMovedAsideAndTheOneBeforeIsRead) {
  ASSERT_TRUE(WriteState(file_, "first").ok());
  ASSERT_TRUE(WriteState(file_, "second").ok());
  std::string text = ReadFile(file_.path).value();
  text.back() = 'X';
  ASSERT_TRUE(WriteFile(file_.path, text, 0600).ok());
  const Result<StateRead> read = ReadState(file_);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->payload, "first");
  EXPECT_NE(read->warning.find("mig.json.damaged"), std::string::npos) << read->warning;
  EXPECT_EQ(ReadFile(file_.path + ".damaged").value(), text);
  const Result<StateRead> again = ReadState(file_);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->payload, "first");
  EXPECT_EQ(again->warning, "");
}

TEST_F(StateFileTest, LookedAtOnlyNothingChanges) {
  EXPECT_FALSE(*PeekState(file_));
  ASSERT_TRUE(WriteState(file_, "first").ok());
  ASSERT_TRUE(WriteState(file_, "second").ok());
  EXPECT_EQ(*PeekState(file_), "second");
  ASSERT_TRUE(WriteFile(file_.path, "damaged", 0600).ok());
  EXPECT_EQ(*PeekState(file_), "first");
  EXPECT_EQ(ReadFile(file_.path).value(), "damaged");
  ASSERT_TRUE(WriteFile(file_.path + ".bak", "damaged", 0600).ok());
  EXPECT_FALSE(*PeekState(file_));
}

TEST_F(StateFileTest, DeletedIsForgotten) {
  ASSERT_TRUE(WriteState(file_, "first").ok());
  ASSERT_TRUE(WriteState(file_, "second").ok());
  ASSERT_TRUE(RemoveTree(file_.path).ok());
  const Result<StateRead> read = ReadState(file_);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->payload);
  // Nor does it come back when the next one is damaged.
  ASSERT_TRUE(WriteState(file_, "third").ok());
  ASSERT_TRUE(WriteFile(file_.path, "damaged", 0600).ok());
  const Result<StateRead> damaged = ReadState(file_);
  ASSERT_TRUE(damaged.ok());
  EXPECT_FALSE(damaged->payload);
}

TEST_F(StateFileTest, EveryTruncationIsDamage) {
  ASSERT_TRUE(WriteState(file_, "payload").ok());
  const std::string text = ReadFile(file_.path).value();
  for (std::size_t length = 0; length < text.size(); ++length) {
    ASSERT_TRUE(WriteFile(file_.path, text.substr(0, length), 0600).ok());
    const Result<StateRead> read = ReadState(file_);
    ASSERT_TRUE(read.ok());
    EXPECT_FALSE(read->payload) << length;
    EXPECT_FALSE(read->warning.empty()) << length;
  }
}

TEST_F(StateFileTest, AnotherVersionIsNotTouched) {
  ASSERT_TRUE(WriteState({file_.path, "mig", 2}, "later").ok());
  const Result<StateRead> read = ReadState(file_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(Exists(file_.path));
}

}  // namespace
}  // namespace partita::base
