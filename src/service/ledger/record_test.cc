#include "service/ledger/record.h"

#include <gtest/gtest.h>

namespace partita::service::ledger {
namespace {

const std::vector<Record> kThree = {{1, R"({"a": 1})"}, {2, ""}, {3, R"({"b": "x y"})"}};

std::string Encoded(const std::vector<Record>& records) {
  std::string bytes;
  for (const Record& record : records) bytes += EncodeRecord(record);
  return bytes;
}

TEST(Records, ComeBackAsTheyWereWritten) {
  const auto read = DecodeRecords(Encoded(kThree));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->whole, kThree);
  EXPECT_EQ(read->damaged, 0U);
  EXPECT_EQ(EncodeRecord(kThree[1]).substr(0, 6), "1 2 0 ");
}

TEST(Records, OfEveryPrefixAreThoseThatAreWhole) {
  const std::string bytes = Encoded(kThree);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const auto read = DecodeRecords(std::string_view(bytes).substr(0, length));
    ASSERT_TRUE(read.ok());
    std::vector<Record> whole;
    std::size_t end = 0;
    for (const Record& record : kThree) {
      if (end + EncodeRecord(record).size() > length) break;
      end += EncodeRecord(record).size();
      whole.push_back(record);
    }
    EXPECT_EQ(read->whole, whole) << length;
    EXPECT_EQ(read->length, end) << length;
    EXPECT_EQ(read->damaged, 0U) << length;
  }
}

TEST(Records, WithAnyByteChangedAreNotRead) {
  const std::string bytes = Encoded(kThree);
  const std::size_t first = EncodeRecord(kThree[0]).size();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const auto read = DecodeRecords(changed);
    ASSERT_TRUE(read.ok()) << at;
    for (const Record& record : read->whole)
      EXPECT_EQ(record, kThree[record.sequence - 1]) << "byte " << at;
    EXPECT_GE(read->whole.size(), 1U);
    EXPECT_EQ(read->damaged, at + 1 < first ? 1U : read->damaged) << "others follow, byte " << at;
  }
}

TEST(Records, OfAnotherVersionAreAnErrorAndNotDamage) {
  // Written by hand, as a later program would: `2 1 2 <checksum> {}`.
  const auto read = DecodeRecords("2 1 2 ce0f821c74f59e11 {}\n");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), base::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace partita::service::ledger
